// A process that runs cases, one for each message, and answers with what came of it.

import onnxtune from '../index.js'
import { difference } from './compare.mjs'
import { locate } from './corpus.mjs'
import { ramp, readValue } from './values.mjs'

const { OnnxModule, readGraph } = onnxtune

process.on('message', async (name) => {
  const result = { name, dtypes: [], status: 'passed', code: '', detail: '' }
  try {
    await runCase(result)
  } catch (error) {
    // What has no code of the package, or that for its own faults, is nothing that a user should ever see.
    const coded = /^ERR_/.test(error.code) && error.code !== 'ERR_INTERNAL'
    Object.assign(result, { status: coded ? 'error' : 'broken', code: error.code ?? '', detail: error.message.trim() })
  }
  process.send(result)
})

async function runCase(result) {
  const parts = await locate(result.name)
  // Read on its own, so that the types of what cannot be loaded are known too.
  const { inputs, outputs } = await readGraph(parts.model)
  result.dtypes = elementTypes([...inputs, ...outputs])
  const module = await OnnxModule.load(parts.model, { threads: 1, callers: 1 })
  try {
    const feeds = {}
    for (const [index, info] of inputs.entries()) {
      feeds[info.name] = parts.inputs === null ? ramp(info) : await readValue(parts.inputs[index], info.type)
    }
    const received = await module.run(feeds)
    for (const [index, file] of parts.outputs.entries()) {
      const { name, type } = outputs[index]
      const found = difference(await readValue(file, type), received[name], parts)
      if (found === null) continue
      Object.assign(result, { status: 'differs', detail: `output ${name}: ${found}` })
      return
    }
  } finally {
    await module.dispose()
  }
}

/** The types of tensors that `sequence(tensor(float32))` and the like name. */
function elementTypes(infos) {
  const words = infos.flatMap((info) => info.type.match(/\w+/g))
  return [...new Set(words)].filter((word) => !['tensor', 'sequence', 'optional', 'map'].includes(word))
}
