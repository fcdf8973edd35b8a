// T11 (demucs.onnx#4, microsoft/onnxruntime#10853): a wrong shape is read past its end, or fails deep inside the runtime.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule, Tensor, inspect, tune } from '../../index.js'
import { caught, generated, throwsFault } from '../helpers.mjs'

const modules = {}
for (const name of ['image', 'identity', 'two_unknowns']) modules[name] = await OnnxModule.load(generated(name))
after(() => Promise.all(Object.values(modules).map((module) => module.dispose())))

const expected = [1, 3, 224, 224]
const size = 3 * 224 * 224

// A TypeError or RangeError comes from lib/, before native code. Both runs, and each way to give dims with data.
async function refuses(name, data, dims, code, details) {
  const ways = [
    { data, dims },
    { data, shape: dims },
    { data, dims, type: 'float32' }
  ]
  for (const x of ways) {
    for (const inputs of [{ x }, x, [x]]) {
      await throwsFault(modules[name].run(inputs), RangeError, code, { input: 'x', ...details })
      await throwsFault(() => modules[name].runSync(inputs), RangeError, code, { input: 'x', ...details })
    }
  }
}

test('[1,3,224,224] itself is refused', async () => {
  const data = new Float32Array(size).fill(0.5)
  for (const x of [data, { data, dims: expected }, new Tensor(data, expected)]) {
    const { y } = await modules.image.run({ x })
    assert.deepEqual({ dims: y.dims, last: y.data.at(-1) }, { dims: expected, last: 0.5 })
  }
})

const SHAPES = {
  '[4,3,224,224]': [[4, 3, 224, 224], /batch is fixed at 1/],
  '[3,224,224]': [[3, 224, 224], /batch dimension missing\? \[1, 3, 224, 224\]/],
  NHWC: [[1, 224, 224, 3], /NHWC/],
  'a flat list': [[size], undefined],
  'one dimension too many': [[1, 1, 3, 224, 224], undefined],
  'another height': [[1, 3, 223, 224], undefined],
  'a batch of 0': [[0, 3, 224, 224], /batch is fixed at 1/]
}
for (const [what, [dims, hint]] of Object.entries(SHAPES)) {
  test(`${what} given for [1,3,224,224] is taken, or refused without expected, received and hint`, async () => {
    const data = new Float32Array(dims.reduce((product, dim) => product * dim, 1))
    const details = { expected, received: dims, hint, message: /"x".*\[1, 3, 224, 224\]/ }
    await refuses('image', data, dims, 'ERR_INPUT_SHAPE', details)
    const tensor = new Tensor('float32', data, dims)
    await throwsFault(modules.image.run({ x: tensor }), RangeError, 'ERR_INPUT_SHAPE', {
      expected,
      received: dims,
      hint
    })
  })
}

test('nested arrays without the batch dimension, or in NHWC order, are refused without a hint', async () => {
  const nest = ([length, ...rest]) => (length === undefined ? 0 : Array.from({ length }, () => nest(rest)))
  for (const [dims, hint] of [
    [[3, 224, 224], /batch dimension/],
    [[1, 224, 224, 3], /NHWC/]
  ]) {
    const details = { input: 'x', expected, received: dims, hint }
    await throwsFault(modules.image.run({ x: nest(dims) }), RangeError, 'ERR_INPUT_SHAPE', details)
  }
})

test('a wrong length is read past its end', async () => {
  for (const length of [0, 1, size - 1, size + 1, 4 * size]) {
    const details = { input: 'x', expected: size, received: length }
    await refuses('image', new Float32Array(length), expected, 'ERR_INPUT_LENGTH', details)
    await throwsFault(modules.image.run(new Float32Array(length)), RangeError, 'ERR_INPUT_LENGTH', details)
    await throwsFault(modules.image.run(new Array(length).fill(0)), RangeError, 'ERR_INPUT_LENGTH', details)
  }
  await throwsFault(modules.identity.run(new Float32Array(6)), RangeError, 'ERR_INPUT_LENGTH', { received: 6 })
})

test('dims whose product overflows, at 2^31, 2^32, 2^53 or 2^64, are counted wrongly', async () => {
  for (const dims of [
    [2 ** 16, 2 ** 16],
    [2 ** 31, 2],
    [2 ** 32, 2 ** 32],
    [2 ** 32 + 4, 2 ** 30],
    [3, 6148914691236517206]
  ]) {
    for (const length of [0, 1, 4]) {
      const x = { data: new Float32Array(length), dims }
      for (const run of [() => modules.two_unknowns.run({ x }), () => modules.two_unknowns.runSync({ x })]) {
        const error = await caught(run)
        assert.ok(error instanceof RangeError, String(error))
        assert.match(error.code, /^ERR_INPUT_(SHAPE|LENGTH)$/)
        assert.equal(error.input, 'x')
      }
    }
  }
  const { y } = await modules.two_unknowns.run({ x: { data: [], dims: [2 ** 31, 0] } })
  assert.deepEqual(y.dims, [2 ** 31, 0])
})

test('-1 and 1.5 are taken as dims', async () => {
  for (const dim of [-1, 1.5, NaN, Infinity, -0.5, 2 ** 64]) {
    const dims = [dim, 3, 224, 224]
    await refuses('image', new Float32Array(size), dims, 'ERR_INPUT_SHAPE', { expected, received: dims })
    await throwsFault(() => new Tensor('float32', new Float32Array(size), dims), RangeError, 'ERR_TENSOR')
  }
})

test('warmup takes shapes that the graph does not have', async () => {
  await modules.image.warmup()
  await modules.two_unknowns.warmup({ x: [2, 3] })
  for (const dims of [
    [4, 3, 224, 224],
    [3, 224, 224],
    [1, 224, 224, 3],
    [2 ** 40, 3, 224, 224]
  ]) {
    const details = { input: 'x', expected, received: dims }
    await throwsFault(modules.image.warmup({ x: dims }), RangeError, 'ERR_INPUT_SHAPE', details)
  }
  for (const dims of [[-1, 3, 224, 224], [1.5, 3, 224, 224], '1,3', 5, null]) {
    const error = await caught(modules.image.warmup({ x: dims }))
    assert.deepEqual([error.code, error.received], ['ERR_OPTION', dims], error.message)
  }
  const details = { expected: ['x'], received: 'y' }
  await throwsFault(modules.image.warmup({ y: [1] }), TypeError, 'ERR_OPTION', details)
})

test('a sample of a wrong shape reaches the runtime from inspect or tune', async () => {
  for (const work of [inspect, tune]) {
    for (const dims of [
      [4, 3, 224, 224],
      [1, 224, 224, 3],
      [224, 224, 3],
      [-1, 3, 224, 224]
    ]) {
      const data = new Float32Array(Math.abs(dims.reduce((product, dim) => product * dim, 1)))
      const error = await caught(work(modules.image, [{ x: { data, dims } }], {}))
      assert.equal(error.code, 'ERR_DATASET_SAMPLE', error.message)
      assert.deepEqual([error.cause.code, error.cause.received], ['ERR_INPUT_SHAPE', dims])
    }
  }
})
