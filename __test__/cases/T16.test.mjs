// T16 (microsoft/onnxruntime#23372, pykeio/ort#567): a GPU is asked for, and the model runs on the CPU without a word.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

import { OnnxModule, OnnxTuneError, versions } from '../../index.js'
import { caught, generated, runQuietly, runProgram, throwsFault } from '../helpers.mjs'

const { library } = await versions()
const libraryOf = (provider) => join(dirname(library), `libonnxruntime_providers_${provider}.so`)
const skip =
  ['cuda', 'tensorrt'].some((provider) => existsSync(libraryOf(provider))) && 'the libraries of GPUs are here'
const identity = generated('identity')

// Loads and runs with each list of providers, and prints what the modules and the process's warnings say.
const program = (lists, more = '') => `
  const warnings = []
  process.on('warning', ({ code, message }) => warnings.push({ code, message }))
  const modules = []
  for (const providers of ${JSON.stringify(lists)}) {
    const module = await onnxtune.OnnxModule.load(generated('identity'), { providers, fallback: true })
    const { y } = await module.run(new Float32Array([1, 2, 3, 4]))
    const { device, backend: { provider, fallback }, placement } = module
    modules.push({ data: [...y.data], device, provider, fallback, placed: placement.map(({ provider }) => provider) })
  }
  ${more}
  await new Promise((resolve) => setTimeout(resolve, 10))
  console.log(JSON.stringify({ modules, warnings }))`

for (const provider of ['cuda', 'tensorrt']) {
  const named = new RegExp(`libonnxruntime_providers_${provider}\\.so`)

  test(
    `${provider}, without fallback, is replaced in silence or refused without the missing library`,
    { skip },
    async () => {
      for (const options of [{}, { fallback: false }, { fallback: undefined }]) {
        for (const providers of [[provider], [provider, 'cpu']]) {
          const loading = OnnxModule.load(identity, { providers, ...options })
          const error = await throwsFault(loading, OnnxTuneError, 'ERR_PROVIDER_UNAVAILABLE', { message: named })
          assert.ok(error.message.includes(`"${provider}"`))
          assert.ok(error.message.includes(libraryOf(provider)))
        }
      }
    }
  )

  test(
    `${provider}, with fallback, runs on the CPU and doesn't say so, or says so at every load`,
    { skip },
    async () => {
      const ended = await runProgram(program([[provider], [provider, 'cpu'], [provider]]))
      assert.deepEqual([ended.code, ended.signal], [0, null], ended.stderr)
      const { modules, warnings } = JSON.parse(ended.stdout)
      for (const { fallback, ...module } of modules) {
        assert.deepEqual(module, {
          data: [1, 2, 3, 4],
          device: 'cpu',
          provider: 'cpu',
          placed: ['CPUExecutionProvider']
        })
        assert.equal(fallback.requested, provider)
        assert.match(fallback.reason, named)
      }
      assert.equal(warnings.length, 1)
      assert.equal(warnings[0].code, 'ONNXTUNE_FALLBACK')
      assert.match(warnings[0].message, new RegExp(`\\bcpu\\b.*\\b${provider}\\b.*${named.source}`))
      // The warning of Node, and its line on how to trace it.
      assert.equal(ended.stderr.match(/ONNXTUNE_FALLBACK/g).length, 1)
      assert.ok(ended.stderr.trim().split('\n').length <= 2, ended.stderr)
    }
  )

  test(`a model that is at fault too is refused for ${provider}, or warned of`, { skip }, async () => {
    const loading = OnnxModule.load(generated('unknown_op'), { providers: [provider], fallback: true })
    assert.equal((await caught(loading)).code, 'ERR_OPERATOR_UNSUPPORTED')
    const missing = OnnxModule.load(`${identity}.nowhere`, { providers: [provider] })
    assert.match((await caught(missing)).code, /^ERR_(MODEL_NOT_FOUND|PROVIDER_UNAVAILABLE)$/)
  })
}

test('of two providers that are missing, only one is told', { skip }, async () => {
  const { stdout } = await runProgram(
    program([
      ['tensorrt', 'cuda'],
      ['cuda', 'tensorrt', 'cpu']
    ])
  )
  const { modules, warnings } = JSON.parse(stdout)
  assert.deepEqual(
    modules.map(({ provider, fallback }) => [provider, fallback.requested]),
    [
      ['cpu', 'tensorrt'],
      ['cpu', 'cuda']
    ]
  )
  assert.equal(warnings.length, 2)
})

test('the CPU, asked for first, is warned of', async () => {
  const { modules, warnings } = await runQuietly(program([['cpu'], ['cpu', 'cuda']]))
  for (const { provider, fallback } of modules)
    assert.deepEqual({ provider, fallback }, { provider: 'cpu', fallback: null })
  assert.deepEqual(warnings, [])
})

test('--no-warnings is not heeded, or the fallback is kept from the module then', { skip }, async () => {
  const { modules } = await runQuietly(program([['cuda']]), { args: ['--no-warnings'] })
  assert.equal(modules[0].fallback.requested, 'cuda')
})

test('a provider that is none is taken for one that is missing', async () => {
  for (const [providers, Class] of [
    [['cudaa'], TypeError],
    [['CUDAExecutionProvider'], TypeError],
    [[], TypeError],
    ['cuda', TypeError],
    [['cuda', 5], RangeError],
    [null, TypeError]
  ]) {
    const error = await throwsFault(OnnxModule.load(identity, { providers, fallback: true }), Class, 'ERR_OPTION')
    assert.match(error.message, /providers/)
  }
  for (const fallback of ['cpu', 1, null]) {
    const error = await caught(OnnxModule.load(identity, { providers: ['cuda'], fallback }))
    assert.equal(error.code, 'ERR_OPTION')
  }
})
