// Options of load: each has an effect that can be seen, or is refused when it is wrong.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { ONNXRuntimeBackend, OneBackendStrategy, OnnxModule, OnnxTuneError, readGraph, tune } from '../index.js'
import { caught, generated, numbers, plain, runProgram, runQuietly, scratch, throwsFault } from './helpers.mjs'

const limit = { timeout: 60_000 }
const folder = scratch()
const x = numbers(16)

// What a module gives that was loaded with these options; disposed afterwards.
async function using(name, options, work) {
  const module = await OnnxModule.load(name, options)
  try {
    return await work(module)
  } finally {
    await module.dispose()
  }
}

const SETTINGS = {
  threads: 3,
  spinning: true,
  graphOptimization: 'basic',
  executionMode: 'parallel',
  interOpThreads: 2,
  flushDenormals: true,
  memoryArena: false,
  memoryPattern: false,
  dimensionOverrides: { batch: 2 },
  configEntries: { 'session.disable_prepacking': '1' }
}
const DEFAULTS = { threads: 1, spinning: false, graphOptimization: 'all' }

test('each setting alone leaves the answers as they are and is told by the module', limit, async () => {
  const inputs = { x: { data: numbers(32), dims: [2, 16] } }
  const expected = await using(generated('mlp_tiny'), {}, async (module) => (await module.run(inputs)).y.data)
  for (const [name, value] of Object.entries({ ...SETTINGS, callers: 3 })) {
    const options = { threads: 1, callers: 1, [name]: value }
    await using(generated('mlp_tiny'), options, async (module) => {
      const { callers, backend } = module.backend.settings
      const rest = name === 'callers' ? {} : { [name]: value }
      assert.deepEqual({ ...backend }, { name: 'onnxruntime', ...DEFAULTS, ...rest }, name)
      assert.equal(callers, name === 'callers' ? 3 : 1)
      // Thrice, since arena and pattern work from the second run on.
      for (let round = 0; round < 3; round++) {
        for (const { y } of [await module.run(inputs), module.runSync(inputs)]) {
          assert.deepEqual(y.dims, [2, 4])
          assert.ok(
            y.data.every((value, index) => Math.abs(value - expected[index]) < 1e-6),
            name
          )
        }
      }
    })
  }
})

test('all settings go together, and from a backend to the candidate of a tune', limit, async () => {
  const tuned = await using(generated('mlp_tiny'), {}, (module) =>
    tune(module, [{ x: { data: numbers(32), dims: [2, 16] } }], {
      strategy: new OneBackendStrategy(new ONNXRuntimeBackend({ ...SETTINGS, callers: 1 })),
      performanceValidation: 'disabled',
      budgetMs: 2000
    })
  )
  assert.deepEqual({ ...tuned.candidate.settings.backend }, { name: 'onnxruntime', ...SETTINGS })
  assert.deepEqual(tuned.backend.settings, tuned.candidate.settings)
  // What was pinned holds for the inputs of the result, too.
  await throwsFault(tuned.run(x), RangeError, 'ERR_INPUT_LENGTH', { input: 'x' })
  await tuned.dispose()
})

const WRONG = {
  executionMode: ['Parallel', 1, null],
  interOpThreads: [0, 1.5, 5000, '2'],
  flushDenormals: [1, 'yes', null],
  memoryArena: [0, null],
  memoryPattern: ['on'],
  dimensionOverrides: [null, 5, [1], { batch: -1 }, { batch: 1.5 }, { batch: '1' }, { batch: 1n }],
  configEntries: [null, 'session.disable_prepacking', ['a'], { 'session.disable_prepacking': 1 }],
  queueLimit: [0, -1, 1.5, Infinity, '8'],
  inline: [true, 'always', null],
  optimizedModelPath: [true, 5, null, {}],
  profiling: [0, 1, null, {}],
  providers: ['cpu', [], [null], ['CPUExecutionProvider'], ['gpu']],
  fallback: ['cpu', 1, null]
}
for (const [name, values] of Object.entries(WRONG)) {
  test(`load refuses wrong values of ${name}`, limit, async () => {
    for (const value of values) {
      const error = await caught(OnnxModule.load(generated('mlp_tiny'), { [name]: value }))
      assert.equal(error.code, 'ERR_OPTION', `${String(value)}: ${error.message}`)
      assert.ok(error.message.includes(`options.${name}`), error.message)
    }
  })
}

test('paths that are none are refused', limit, async () => {
  for (const name of ['optimizedModelPath', 'profiling']) {
    for (const value of ['', 'a\0b', 'https://example.org/trace', new URL('https://example.org/trace')]) {
      const loading = OnnxModule.load(generated('mlp_tiny'), { [name]: value })
      // A text that looks like a web address is a path like any other.
      if (value === 'https://example.org/trace') await caught(loading.then((module) => module.endProfiling()))
      else await throwsFault(loading, TypeError, 'ERR_SOURCE')
    }
  }
})

test('threads are started as asked for', { ...limit, skip: process.platform !== 'linux' }, async () => {
  const count = (options) =>
    runQuietly(`import { readdirSync } from 'node:fs'
      const threads = () => readdirSync('/proc/self/task').length
      await (await onnxtune.OnnxModule.load(generated('mlp_tiny'), { threads: 1, callers: 1 })).warmup()
      const before = threads()
      await (await onnxtune.OnnxModule.load(generated('mlp_tiny'), ${JSON.stringify(options)})).warmup()
      console.log(threads() - before)`)
  const one = { threads: 1, callers: 1 }
  const least = await count(one)
  // One more or less may be a thread of the process itself that ends meanwhile.
  for (const more of [{ threads: 9 }, { callers: 9 }, { executionMode: 'parallel', interOpThreads: 9 }]) {
    const extra = (await count({ ...one, ...more })) - least
    assert.ok(extra >= 6 && extra <= 10, `${extra} threads more with ${JSON.stringify(more)}`)
  }
})

test('flushDenormals makes zeros of them, in every run and on every thread, and nowhere else', limit, async () => {
  // x * 2, once of a few numbers and once of enough for several threads.
  const inputs = (rows) => ({ x: { data: new Float32Array(8 * rows).fill(1e-40), dims: [rows, 8] }, n: 0, flag: true })
  for (const flushDenormals of [true, false]) {
    for (const threads of [1, 4]) {
      await using(generated('control_flow'), { flushDenormals, threads }, async (module) => {
        for (const rows of [1, 1 << 15]) {
          for (let round = 0; round < 5; round++) {
            for (const { acc } of [await module.run(inputs(rows)), module.runSync(inputs(rows))]) {
              const zeros = acc.data.filter((value) => value === 0).length
              assert.equal(zeros, flushDenormals ? 8 * rows : 0, `${threads} threads, ${rows} rows`)
            }
            const tiny = Float64Array.of(5e-324)
            assert.notEqual(tiny[0] * 2, 0, 'arithmetic in JavaScript is as it was')
          }
        }
      })
    }
  }
})

test('dimensionOverrides fix what inputs may be, and with it what can be told of a flat array', limit, async () => {
  const dimensionOverrides = { rows: 2 }
  await using(generated('two_unknowns'), { dimensionOverrides }, async (module) => {
    assert.deepEqual(module.graphInfo.inputs[0].shape, ['rows', 'columns'], 'facts are those of the file')
    assert.deepEqual((await module.run(numbers(6))).y.dims, [2, 3])
    assert.deepEqual(module.runSync({ x: { data: numbers(8), dims: [2, 4] } }).y.dims, [2, 4])
    const wrong = { x: { data: numbers(6), dims: [3, 2] } }
    const details = { input: 'x', expected: [2, 'columns'], received: [3, 2] }
    await throwsFault(module.run(wrong), RangeError, 'ERR_INPUT_SHAPE', details)
    await throwsFault(() => module.runSync(wrong), RangeError, 'ERR_INPUT_SHAPE', details)
    await throwsFault(module.run(numbers(5)), RangeError, 'ERR_INPUT_LENGTH', { input: 'x' })
    await module.warmup()
  })
  await using(generated('two_unknowns'), {}, async (module) => {
    await throwsFault(module.run(numbers(6)), TypeError, 'ERR_INPUT_SHAPE', { input: 'x' })
  })
})

test('graphOptimization and configEntries decide what becomes of the graph', limit, async () => {
  const operators = async (options) => {
    const optimizedModelPath = join(folder, 'graph.onnx')
    await using(generated('mlp_tiny'), { ...options, optimizedModelPath }, () => {})
    return (await readGraph(optimizedModelPath)).operators
  }
  const original = ['Gemm', 'Relu', 'Softmax']
  const fused = ['Gemm', 'Softmax', 'com.microsoft::FusedGemm']
  for (const [graphOptimization, expected] of Object.entries({ disabled: original, extended: fused, all: fused })) {
    assert.deepEqual(await operators({ graphOptimization }), expected, graphOptimization)
  }
  const configEntries = { 'optimization.disable_specified_optimizers': 'GemmActivationFusion' }
  assert.deepEqual(await operators({ configEntries }), original)
})

test('entries that the runtime does not know are refused', limit, async () => {
  for (const key of [
    'session.disable_prepackin',
    'disable_prepacking',
    '',
    'session',
    'session.disable_prepacking\0'
  ]) {
    const configEntries = { 'session.disable_prepacking': '1', [key]: '1' }
    const loading = OnnxModule.load(generated('mlp_tiny'), { configEntries })
    await throwsFault(loading, OnnxTuneError, 'ERR_CONFIG_ENTRY', { message: /no configuration entry/ })
  }
})

test('optimizedModelPath writes a model that gives the same answers', limit, async () => {
  const name = join(folder, 'ä b%20#?.onnx')
  for (const optimizedModelPath of [name, pathToFileURL(name)]) {
    const expected = await using(generated('mlp_tiny'), { optimizedModelPath }, async (module) => {
      assert.equal(module.graphInfo.modelPath, generated('mlp_tiny'))
      return plain(await module.run(x))
    })
    assert.deepEqual(await using(name, {}, async (module) => plain(await module.run(x))), expected)
  }
  const optimizedModelPath = join(folder, 'nowhere', 'graph.onnx')
  await throwsFault(OnnxModule.load(generated('mlp_tiny'), { optimizedModelPath }), OnnxTuneError, 'ERR_MODEL_LOAD')
  assert.ok(!existsSync(join(folder, 'nowhere')))
})

test('externalData may be the folder that the files are in', limit, async () => {
  const bytes = readFileSync(generated('mlp_external'))
  const data = numbers(1024)
  const expected = await using(generated('mlp_external'), {}, async (module) => plain(await module.run(data)))
  const models = join(generated('mlp_external'), '..')
  for (const externalData of [models, pathToFileURL(models)]) {
    const given = await using(bytes, { externalData }, async (module) => plain(await module.run(data)))
    assert.deepEqual(given, expected)
    assert.equal((await readGraph(bytes, { externalData })).externalData[0].present, true)
  }
  for (const externalData of [folder, join(folder, 'nowhere'), generated('mlp_external')]) {
    await throwsFault(OnnxModule.load(bytes, { externalData }), OnnxTuneError, 'ERR_EXTERNAL_DATA_MISSING')
  }
  for (const externalData of ['', new URL('https://example.org/models')]) {
    await throwsFault(OnnxModule.load(bytes, { externalData }), TypeError, 'ERR_SOURCE')
  }
  const beside = OnnxModule.load(generated('mlp_external'), { externalData: models })
  await throwsFault(beside, TypeError, 'ERR_OPTION', { received: 'externalData' })
})

test('a provider that is not there is an error, or is replaced with one warning for each', limit, async () => {
  for (const providers of [['cuda'], ['cuda', 'cpu'], ['tensorrt', 'cuda']]) {
    const details = { message: new RegExp(`"${providers[0]}" is not available`) }
    const loading = OnnxModule.load(generated('mlp_tiny'), { providers })
    await throwsFault(loading, OnnxTuneError, 'ERR_PROVIDER_UNAVAILABLE', details)
  }
  for (const providers of [['cpu'], ['cpu', 'cuda'], undefined]) {
    for (const fallback of [true, false, undefined]) {
      const module = await OnnxModule.load(generated('mlp_tiny'), { providers, fallback })
      assert.equal(module.backend.fallback, null)
      await module.dispose()
    }
  }
  const ended = await runProgram(`const warnings = []
    process.on('warning', ({ code, message }) => warnings.push({ code, message }))
    const told = []
    for (const providers of [['cuda'], ['cuda', 'cpu'], ['tensorrt', 'cuda'], ['tensorrt'], ['cpu']]) {
      const module = await onnxtune.OnnxModule.load(generated('mlp_tiny'), { providers, fallback: true })
      const { y } = await module.run(new Float32Array(16))
      const { provider, fallback } = module.backend
      told.push([provider, fallback?.requested ?? null, y.dims])
      assert.ok(fallback === null || fallback.reason.length > 10)
      assert.ok(Object.isFrozen(module.backend))
    }
    await new Promise(setImmediate)
    console.log(JSON.stringify({ told, warnings }))`)
  assert.equal(ended.code, 0, ended.stderr)
  const { told, warnings } = JSON.parse(ended.stdout)
  const requested = ['cuda', 'cuda', 'tensorrt', 'tensorrt', null]
  assert.deepEqual(
    told,
    requested.map((name) => ['cpu', name, [1, 4]])
  )
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ['ONNXTUNE_FALLBACK', 'ONNXTUNE_FALLBACK']
  )
  assert.match(warnings[0].message, /on cpu instead of cuda/)
  assert.match(warnings[1].message, /on cpu instead of tensorrt/)
})

test('nothing is left in the current folder by options that name other places', limit, () => {
  assert.deepEqual(
    readdirSync('.').filter((name) => name.startsWith('onnxtune-profile')),
    []
  )
})
