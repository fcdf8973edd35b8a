// Faults of inputs and options: found before native code, each with what was expected, what came, and a hint.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import {
  MaxThroughputStrategy,
  ONNXRuntimeBackend,
  OneBackendStrategy,
  OnnxModule,
  Tensor,
  TunedModule,
  inspect,
  readGraph,
  setRuntime,
  tune,
  versions
} from '../index.js'
import { caught, fetched, generated, lacks, throwsFault } from './helpers.mjs'

const models = {}
for (const name of ['identity', 'cnn_fixed1', 'two_unknowns', 'names', 'scalar', 'identity_int64', 'strings']) {
  models[name] = await OnnxModule.load(generated(name))
}
after(() => Promise.all(Object.values(models).map((module) => module.dispose())))

// Checks run and runSync alike.
async function refuses(name, inputs, Class, code, details) {
  const module = models[name]
  await throwsFault(module.run(inputs), Class, code, details)
  await throwsFault(() => module.runSync(inputs), Class, code, details)
}

const x = Float32Array.of(1, 2, 3, 4)
const image = new Float32Array(3 * 96 * 96)
const a = Float32Array.of(1, 2, 3, 4)
const ids = Int32Array.of(1)
const names = ['a.b/c:0', 'ids:0']

test('a missing input is named, with all that were expected and came', async () => {
  const missing = { input: 'ids:0', expected: names, received: ['a.b/c:0'], message: /"ids:0" is missing/ }
  await refuses('names', { 'a.b/c:0': a }, TypeError, 'ERR_INPUT_MISSING', missing)
  await refuses('names', { 'a.b/c:0': a, 'ids:0': undefined }, TypeError, 'ERR_INPUT_MISSING', missing)
  await refuses('names', {}, TypeError, 'ERR_INPUT_MISSING', { input: 'a.b/c:0', received: [], hint: undefined })
  await refuses('identity', new Map([['x', x]]), TypeError, 'ERR_INPUT_MISSING', { input: 'x' })
})

test('an extra input is named', async () => {
  const inputs = { 'a.b/c:0': a, 'ids:0': ids, temperature: 1 }
  const extra = { input: 'temperature', expected: names, received: Object.keys(inputs), hint: undefined }
  await refuses('names', inputs, TypeError, 'ERR_INPUT_UNKNOWN', extra)
  await refuses('names', { ...inputs, temperature: null }, TypeError, 'ERR_INPUT_UNKNOWN', extra)
})

test('a misspelt input is answered with the nearest name', async () => {
  const inputs = { 'a.b/c:0': a, ids: ids }
  const hint = 'did you mean "ids:0"?'
  const misspelt = { input: 'ids:0', received: ['a.b/c:0', 'ids'], hint, message: /did you mean/ }
  await refuses('names', inputs, TypeError, 'ERR_INPUT_MISSING', misspelt)
  await refuses('names', { ...inputs, 'ids:0': ids, 'A.B/c:0': a }, TypeError, 'ERR_INPUT_UNKNOWN', { input: 'ids' })
})

test('null, undefined, functions and objects that are no tensors are refused', async () => {
  const kinds = [
    [null, 'null'],
    [() => x, 'function'],
    [Symbol('x'), 'symbol'],
    [{ data: x }, 'object'],
    [new Date(), 'object'],
    [new Map(), 'object'],
    [x.buffer, 'object']
  ]
  for (const [value, received] of kinds) {
    const fault = { input: 'x', expected: 'tensor(float32)', received }
    await refuses('identity', { x: value }, TypeError, 'ERR_INPUT_TYPE', fault)
  }
  for (const inputs of [null, undefined]) {
    await refuses('identity', inputs, TypeError, 'ERR_INPUT_TYPE', { input: 'x', received: String(inputs) })
    await refuses('names', inputs, TypeError, 'ERR_INPUT_COUNT', { expected: names, received: String(inputs) })
  }
})

test('a wrong number of inputs by position tells the names', async () => {
  await refuses('names', [a], TypeError, 'ERR_INPUT_COUNT', { expected: names, received: 1 })
  await refuses('names', [a, ids, ids], TypeError, 'ERR_INPUT_COUNT', { expected: names, received: 3 })
  await refuses('identity', [x, x], TypeError, 'ERR_INPUT_COUNT', { expected: ['x'], received: 2 })
  await refuses('names', a, TypeError, 'ERR_INPUT_COUNT', { expected: names, received: 'Float32Array' })
})

test('a typed array of another type is refused, never converted', async () => {
  const wrong = { input: 'x', expected: 'float32', received: 'float64' }
  await refuses('identity', { x: Float64Array.from(x) }, TypeError, 'ERR_INPUT_TYPE', wrong)
  const tensor = new Tensor('int32', Int32Array.from(x), [1, 4])
  await refuses('identity', { x: tensor }, TypeError, 'ERR_INPUT_TYPE', { ...wrong, received: 'int32' })
  await refuses('strings', { text: x }, TypeError, 'ERR_INPUT_TYPE', { input: 'text', expected: 'string' })
})

test("a declared type that is not the graph's is refused, whatever holds the values", async () => {
  for (const data of [x, [...x], [...x].map(Number)]) {
    const fault = { input: 'x', expected: 'float32', received: 'float64' }
    await refuses('identity', { x: { data, dims: [1, 4], type: 'float64' } }, TypeError, 'ERR_INPUT_TYPE', fault)
  }
})

test('bytes are taken for numbers only where somebody says so', async () => {
  const fault = { input: 'x', expected: 'float32', received: 'uint8', hint: /type: 'float32'/ }
  await refuses('identity', { x: Buffer.from(x.buffer) }, TypeError, 'ERR_INPUT_TYPE', fault)
  const inputs = { x: { data: Buffer.alloc(15), dims: [1, 4], type: 'float32' } }
  await refuses('identity', inputs, RangeError, 'ERR_INPUT_LENGTH', { input: 'x', received: 15 })
})

test('values of the wrong kind are refused', async () => {
  for (const value of ['1', true, null, undefined, {}]) {
    await refuses('identity', { x: [1, 2, 3, value] }, TypeError, 'ERR_INPUT_VALUE', { input: 'x', received: value })
  }
  await refuses('strings', { text: ['a', 5] }, TypeError, 'ERR_INPUT_VALUE', { input: 'text', received: 5 })
  await refuses('identity', { x: [1, 2, 3, 4n] }, RangeError, 'ERR_INPUT_VALUE', { input: 'x', received: 4n })
})

const shape = [1, 3, 96, 96]
const SHAPES = {
  'without its batch dimension': [[3, 96, 96], /is the batch dimension missing\? \[1, 3, 96, 96\]/],
  'in NHWC order': [[1, 96, 96, 3], /NHWC.*NCHW/],
  'with a larger batch than the fixed one': [[4, 3, 96, 96], /batch is fixed at 1/],
  'of a wrong width': [[1, 3, 96, 95], undefined],
  'of too high a rank': [[1, 1, 3, 96, 96], undefined],
  'without any dimension': [[], undefined]
}

for (const [what, [dims, hint]] of Object.entries(SHAPES)) {
  test(`an image ${what} is refused${hint ? ' with a hint' : ''}`, async () => {
    const data = new Float32Array(dims.reduce((product, dim) => product * dim, 1))
    const details = { input: 'data', expected: shape, received: dims, hint }
    const message = hint ?? /but the graph's is \[1, 3, 96, 96\]$/
    await refuses('cnn_fixed1', { data: { data, dims } }, RangeError, 'ERR_INPUT_SHAPE', { ...details, message })
  })
}

test('NCHW where the graph takes NHWC is refused with a hint', { skip: lacks('nsfw') }, async () => {
  const {
    inputs: [input]
  } = await readGraph(fetched('nsfw'))
  const [, height, width, channels] = input.shape
  assert.equal(channels, 3)
  const module = await OnnxModule.load(fetched('nsfw'))
  const inputs = { data: new Float32Array(channels * height * width), dims: [1, channels, height, width] }
  await throwsFault(module.run([inputs]), RangeError, 'ERR_INPUT_SHAPE', { input: input.name, hint: /NCHW.*NHWC/ })
  await module.dispose()
})

test('a wrong number of values is refused', async () => {
  const tooFew = { input: 'data', expected: 27648, received: 7 }
  await refuses('cnn_fixed1', new Float32Array(7), RangeError, 'ERR_INPUT_LENGTH', tooFew)
  await refuses('cnn_fixed1', { data: { data: image.subarray(1), dims: shape } }, RangeError, 'ERR_INPUT_LENGTH', {
    ...tooFew,
    received: 27647
  })
  await refuses('identity', x.subarray(1), RangeError, 'ERR_INPUT_LENGTH', { input: 'x', received: 3 })
  await refuses('identity', { x: { data: [1, 2, 3], dims: [1, 4] } }, RangeError, 'ERR_INPUT_LENGTH', { expected: 4 })
  await refuses('scalar', [1, 2], RangeError, 'ERR_INPUT_LENGTH', { input: 'x', expected: 1, received: 2 })
})

test('a buffer that was given away counts as empty, not as what it was', async () => {
  const gone = Float32Array.of(1, 2, 3, 4)
  structuredClone(gone.buffer, { transfer: [gone.buffer] })
  const inputs = { x: { data: gone, dims: [1, 4] } }
  await refuses('identity', inputs, RangeError, 'ERR_INPUT_LENGTH', { input: 'x', expected: 4, received: 0 })
})

test('dims that are no counts are refused', async () => {
  for (const dim of [-1, 1.5, NaN, Infinity, '2', null, undefined, 2n]) {
    const inputs = { x: { data: x, dims: [dim, 4] } }
    await refuses('identity', inputs, RangeError, 'ERR_INPUT_SHAPE', { input: 'x', received: [dim, 4] })
  }
  for (const dims of ['1,4', 4, { length: 2 }, Int32Array.of(1, 4)]) {
    await refuses('identity', { x: { data: x, dims } }, TypeError, 'ERR_INPUT_SHAPE', { input: 'x', received: dims })
  }
})

test('dims whose product overflows are refused', async () => {
  for (const dims of [
    [2 ** 53, 4],
    [2 ** 31, 2 ** 31],
    [2 ** 60, 2 ** 60],
    [2 ** 62, 0],
    [0, 2 ** 63]
  ]) {
    const inputs = { x: { data: new Float32Array(0), dims } }
    await refuses('two_unknowns', inputs, RangeError, 'ERR_INPUT_SHAPE', { input: 'x', received: dims })
  }
})

test('ragged nested arrays are refused', async () => {
  for (const ragged of [
    [[1, 2], [3]],
    [[1, 2], 3],
    [1, [2, 3]],
    [[1], [[2]]],
    [[[1]], [[2, 3]]]
  ]) {
    const fault = { input: 'x', message: /not all of one shape/ }
    await refuses('two_unknowns', { x: ragged }, RangeError, 'ERR_INPUT_SHAPE', fault)
  }
  const cyclic = []
  cyclic[0] = cyclic
  await refuses('two_unknowns', { x: cyclic }, RangeError, 'ERR_INPUT_SHAPE', { input: 'x' })
})

test('two unknown dimensions cannot be told from the number of values, and the error says so', async () => {
  const expected = ['rows', 'columns']
  const message = /2 of its dimensions are unknown/
  const fault = { input: 'x', expected, received: 4, hint: 'give { data, dims }', message }
  await refuses('two_unknowns', x, TypeError, 'ERR_INPUT_SHAPE', fault)
  await refuses('two_unknowns', [1, 2, 3, 4], TypeError, 'ERR_INPUT_SHAPE', fault)
})

test('a refused run leaves the module as it was', async () => {
  await caught(models.identity.run({}))
  assert.deepEqual((await models.identity.run({ x })).y.data, x)
})

const identity = generated('identity')
const OPTIONS = {
  readGraph: [(options) => readGraph(identity, options), 'externalDta', 'externalData'],
  load: [(options) => OnnxModule.load(identity, options), 'thread', 'threads'],
  run: [(options) => models.identity.run({ x }, options), 'sginal', 'signal'],
  inspect: [(options) => inspect(models.identity, [x], options), 'iteration', 'iterations'],
  tune: [(options) => tune(models.identity, [x], options), 'budgetMS', 'budgetMs'],
  'TunedModule.load': [(options) => TunedModule.load(identity, options), 'signals', 'signal'],
  setRuntime: [(options) => setRuntime(options), 'libraryPaths', 'libraryPath'],
  ONNXRuntimeBackend: [(options) => new ONNXRuntimeBackend(options), 'graphOptimisation', 'graphOptimization'],
  MaxThroughputStrategy: [(options) => new MaxThroughputStrategy(options), 'backend', 'backends']
}

for (const [name, [call, misspelt, meant]] of Object.entries(OPTIONS)) {
  test(`an option that ${name} does not know is answered with the nearest`, async () => {
    const details = { received: misspelt, hint: `did you mean "${meant}"?` }
    await throwsFault(() => call({ [misspelt]: 1 }), TypeError, 'ERR_OPTION', details)
    await throwsFault(() => call({ quiteAnotherThing: 1 }), TypeError, 'ERR_OPTION', { hint: undefined })
    for (const options of [null, 5, 'fast', []]) await throwsFault(() => call(options), TypeError, 'ERR_OPTION')
  })
}

const VALUES = {
  threads: [0, -1, 1.5, NaN, 5000, '2', null],
  callers: [0, 2n, {}],
  spinning: ['yes', 1, null],
  graphOptimization: ['fastest', 3, null],
  externalData: [null, 5, { 'a.data': 'text' }]
}
for (const [name, values] of Object.entries(VALUES)) {
  test(`load refuses wrong values of ${name}`, async () => {
    for (const value of values) {
      const error = await caught(OnnxModule.load(new Uint8Array([1, 2, 3]), { [name]: value }))
      assert.equal(error.code, 'ERR_OPTION', `${String(value)}: ${error.message}`)
      assert.equal(error.constructor, typeof value === 'number' ? RangeError : TypeError, String(value))
      assert.match(error.message, new RegExp(name))
    }
  })
}

const TUNE_VALUES = {
  strategy: ['fastest', new ONNXRuntimeBackend(), {}, null],
  batchSizes: [4, [], [0], [1.5], ['1'], [-1]],
  maxBatchesPerBatchSize: [0, 1.5],
  maxSamples: [0, '5'],
  accuracy: [0.1, null, { rtol: -1 }, { atol: NaN }, { rtol: '1' }, { tolerance: 1 }],
  performanceValidation: [true, 'on'],
  budgetMs: [0, -1, NaN, Infinity, '5s'],
  load: [4, { concurrency: 0 }, { clients: 2 }],
  seed: [-1, 1.5],
  onProgress: [{}, 'log', null],
  signal: [{}, null]
}
for (const [name, values] of Object.entries(TUNE_VALUES)) {
  test(`tune refuses wrong values of ${name}`, async () => {
    for (const value of values) {
      const error = await caught(tune(models.identity, [x], { [name]: value }))
      assert.equal(error.code, 'ERR_OPTION', `${JSON.stringify(value)}: ${error.message}`)
      assert.ok(error.constructor === TypeError || error.constructor === RangeError)
      assert.match(error.message, new RegExp(name))
    }
  })
}

test('inspect refuses wrong values', async () => {
  for (const options of [{ iterations: 0 }, { iterations: 1.5 }, { warmup: -1 }, { onProgress: 1 }, { signal: {} }]) {
    const error = await caught(inspect(models.identity, [x], options))
    assert.equal(error.code, 'ERR_OPTION', JSON.stringify(options))
  }
})

test('strategies and backends refuse what they cannot use', async () => {
  await throwsFault(() => new OneBackendStrategy(), TypeError, 'ERR_OPTION')
  await throwsFault(() => new OneBackendStrategy({ threads: 1 }), TypeError, 'ERR_OPTION')
  for (const backends of [[], {}, [{}]]) {
    await throwsFault(() => new MaxThroughputStrategy({ backends }), TypeError, 'ERR_OPTION')
  }
  await throwsFault(() => new ONNXRuntimeBackend({ threads: 0 }), RangeError, 'ERR_OPTION', { received: 0 })
})

test('tensors refuse what does not fit together', async () => {
  await throwsFault(() => new Tensor('float32', x, [3]), RangeError, 'ERR_TENSOR', { expected: 3, received: 4 })
  await throwsFault(() => new Tensor('float32', x, [-4]), RangeError, 'ERR_TENSOR')
  await throwsFault(() => new Tensor('float32', x, '4'), TypeError, 'ERR_TENSOR')
  const bytes = { received: 'Int8Array' }
  await throwsFault(() => new Tensor('float32', Int8Array.of(1), [1]), TypeError, 'ERR_TENSOR', bytes)
  await throwsFault(() => new Tensor('flaot32', x, [4]), TypeError, 'ERR_TENSOR', { received: 'flaot32' })
  await throwsFault(() => new Tensor('float32'), TypeError, 'ERR_TENSOR')
  await throwsFault(() => new Tensor(), TypeError, 'ERR_TENSOR')
})

test('modules are made by load only', async () => {
  for (const Class of [OnnxModule, TunedModule]) assert.equal((await caught(() => new Class())).code, 'ERR_CONSTRUCTOR')
})

test('versions are told', async () => {
  const { onnxtune, onnxruntime, library } = await versions()
  assert.match(onnxtune, /^\d+\.\d+\.\d+$/)
  assert.match(onnxruntime, /^1\.\d+\.\d+$/)
  assert.match(library, /onnxruntime/)
})
