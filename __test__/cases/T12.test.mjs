// T12 (microsoft/onnxruntime#18586, huggingface/transformers.js#940, sherpa-onnx#2473): a model is found by one form of its
// path and not by another, or without the weights that lie beside it.
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { OnnxModule, OnnxTuneError, TunedModule, inspect, readGraph, tune, versions } from '../../index.js'
import { generated, numbers, plain, runQuietly, scratch, throwsFault } from '../helpers.mjs'

const limit = { timeout: 60_000 }
const folder = scratch()
const x = numbers(1024)
const bytes = readFileSync(generated('mlp_external'))
const location = 'mlp_external.onnx.data'
const data = readFileSync(join(generated('mlp_external'), '..', location))

async function outputOf(...given) {
  const module = await OnnxModule.load(...given)
  const outputs = plain(await module.run({ x }))
  await module.dispose()
  return outputs
}
const expected = await outputOf(generated('mlp_external'))

// The forms of a path to an existing folder, with a name in it that may be still to come.
const odd = (name) => {
  const path = join(folder, name)
  mkdirSync(path)
  copyFileSync(generated('mlp_external'), join(path, 'model.onnx'))
  copyFileSync(join(generated('mlp_external'), '..', location), join(path, location))
  return path
}
const FOLDERS = ['模型 é 🚀 dir', 'e\u0301 %41 #1?a=b&c+d', 'quotes \'"` back\\slash', ' spaces \n', '{a,b}*$(x)~']
const formsOf = (path, name) => {
  const link = join(folder, `link ${FOLDERS.indexOf(path.slice(folder.length + 1))}`)
  if (!existsSync(link)) symlinkSync(path, link)
  return {
    'an absolute path': join(path, name),
    'a relative path': relative(process.cwd(), join(path, name)),
    'a path with dots': `${path}/../${path.slice(folder.length + 1)}/./${name}`,
    'a file: URL': pathToFileURL(join(path, name)),
    'the text of a file: URL': pathToFileURL(join(path, name)).href,
    'a link to the folder': join(link, name)
  }
}

for (const name of FOLDERS) {
  test(`a model in a folder named ${JSON.stringify(name)} is not found, or not its weights`, limit, async () => {
    const path = odd(name)
    symlinkSync(join(path, 'model.onnx'), join(folder, `${FOLDERS.indexOf(name)}.onnx`))
    const forms = {
      ...formsOf(path, 'model.onnx'),
      'a link to the file': join(folder, `${FOLDERS.indexOf(name)}.onnx`)
    }
    for (const [form, source] of Object.entries(forms)) {
      assert.deepEqual(await outputOf(source), expected, form)
      const { externalData } = await readGraph(source)
      assert.deepEqual(externalData, [{ location, bytes: data.length, present: true }], form)
    }
    const program = `const module = await onnxtune.OnnxModule.load('model.onnx')
      const graph = await onnxtune.readGraph('./model.onnx')
      const { y } = await module.run(new Float32Array(${JSON.stringify([...x])}))
      console.log(JSON.stringify({ present: graph.externalData[0].present, data: [...y.data] }))`
    const there = await runQuietly(program, { cwd: path })
    assert.deepEqual(there, { present: true, data: [...expected[0].data] })
  })

  test(`what is written to a folder named ${JSON.stringify(name)} is not found again`, limit, async () => {
    const path = join(folder, name)
    const tuned = await tune(generated('mlp_tiny'), [numbers(16)], { budgetMs: 100 })
    const answer = plain(await tuned.run(numbers(16)))
    for (const [index, form] of Object.keys(formsOf(path, '')).entries()) {
      const to = (file) => formsOf(path, `${index} ${file}`)[form]
      await tuned.save(to('checkpoint'))
      const options = { optimizedModelPath: to('optimized.onnx'), profiling: to('profile') }
      const loaded = await TunedModule.load(to('checkpoint'))
      const module = await OnnxModule.load(generated('mlp_tiny'), options)
      assert.deepEqual(plain(await loaded.run(numbers(16))), answer, form)
      assert.deepEqual(plain(await module.run(numbers(16)))[0].dims, [1, 4], form)
      const profile = await module.endProfiling()
      assert.ok(existsSync(profile.path) && profile.runs === 1, form)
      assert.deepEqual((await readGraph(to('optimized.onnx'))).inputNames, ['x'], form)
      await Promise.all([loaded.dispose(), module.dispose()])
    }
    await tuned.dispose()
    const written = readdirSync(path).filter((file) => /^\d /.test(file))
    assert.equal(written.length, 3 * 6, `all of it there: ${written}`)
  })
}

test('inspect and tune take fewer forms of a path than load', limit, async () => {
  for (const source of Object.values(formsOf(join(folder, FOLDERS[0]), 'model.onnx'))) {
    assert.equal((await inspect(source, [x], { iterations: 1, warmup: 0 })).modules[0].calls, 1)
    const tuned = await tune(source, [x], { budgetMs: 50 })
    await tuned.save(join(folder, 'again'))
    await tuned.dispose()
  }
})

test('the runtime library in such a folder is not found', limit, async () => {
  const { library } = await versions()
  const path = join(folder, FOLDERS[0])
  symlinkSync(library, join(path, 'library.so'))
  for (const libraryPath of Object.values(formsOf(path, 'library.so'))) {
    const program = `const libraryPath = ${JSON.stringify(String(libraryPath))}
      onnxtune.setRuntime({ libraryPath: ${libraryPath instanceof URL} ? new URL(libraryPath) : libraryPath })
      console.log(JSON.stringify((await onnxtune.versions()).library))`
    assert.match(await runQuietly(program), /library\.so$/)
  }
})

test('bytes without their external data are refused without the name of the missing file', limit, async () => {
  const details = { message: /mlp_external\.onnx\.data/ }
  const wrong = [undefined, {}, { 'other.data': data }, { [`./${location}x`]: data }]
  for (const externalData of wrong) {
    await throwsFault(OnnxModule.load(bytes, { externalData }), OnnxTuneError, 'ERR_EXTERNAL_DATA_MISSING', details)
    assert.equal((await readGraph(bytes, { externalData })).externalData[0].present, false)
  }
  const short = { externalData: { [location]: data.subarray(1) } }
  await throwsFault(OnnxModule.load(bytes, short), OnnxTuneError, 'ERR_EXTERNAL_DATA_TOO_SHORT', details)
  const empty = scratch()
  const given = OnnxModule.load(bytes, { externalData: empty })
  await throwsFault(given, OnnxTuneError, 'ERR_EXTERNAL_DATA_MISSING', details)
})

test('bytes with their external data give another output than the file', limit, async () => {
  for (const source of [bytes, new Uint8Array(bytes), new Uint8Array(bytes).buffer]) {
    assert.deepEqual(await outputOf(source, { externalData: { [location]: data } }), expected)
  }
  for (const externalData of Object.values(formsOf(join(folder, FOLDERS[0]), ''))) {
    assert.deepEqual(await outputOf(bytes, { externalData }), expected, String(externalData))
    assert.equal((await readGraph(bytes, { externalData })).externalData[0].present, true)
  }
})
