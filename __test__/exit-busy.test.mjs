// A process may end at any moment of a load, a run or a tune: what still works in native code must not meet a runtime
// whose globals are gone. Chance decides where each process is when it ends, so each kind has many of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { runProgram } from './helpers.mjs'

const limit = { timeout: 120_000 }
const PROCESSES = 25

const WORK = {
  'models are loaded': "for (let index = 0; index < 4; index++) onnxtune.OnnxModule.load(generated('resnet18'))",
  'many runs give maps': `const module = await onnxtune.OnnxModule.load(generated('zipmap'), { callers: 4 })
    const rows = new Float32Array(4 * 200)
    for (let index = 0; index < 50; index++) module.run({ float_input: rows })`,
  'long runs are under way': `const module = await onnxtune.OnnxModule.load(generated('slow'), { callers: 4 })
    for (let index = 0; index < 8; index++) module.run({ n: 10_000_000 })`,
  'a model is tuned': "onnxtune.tune(generated('mlp_tiny'), [new Float32Array(16)], { budgetMs: 600_000 })",
  'a graph is read': "for (let index = 0; index < 50; index++) onnxtune.readGraph(generated('resnet18'))"
}

for (const [what, work] of Object.entries(WORK)) {
  test(`a process that exits while ${what} has its own code, and nothing on stderr`, limit, async () => {
    const endings = {}
    for (let index = 0; index < PROCESSES; index++) {
      const ended = await runProgram(`${work}\nsetTimeout(() => process.exit(3), ${2 * index})`)
      const ending = [ended.code ?? ended.signal, ended.stdout, ended.stderr.split('\n', 3).join(' ')].join(' ').trim()
      endings[ending] = (endings[ending] ?? 0) + 1
    }
    assert.deepEqual(endings, { 3: PROCESSES })
  })
}
