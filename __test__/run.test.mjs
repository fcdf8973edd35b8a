// load, run and runSync: every type of tensor and every way to give inputs.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { Tensor as CommonTensor } from 'onnxruntime-common'

import { OnnxModule, Tensor } from '../index.js'
import { generated, plain, throwsFault } from './helpers.mjs'

const loaded = new Map()
const load = (name) => {
  if (!loaded.has(name)) loaded.set(name, OnnxModule.load(generated(name)))
  return loaded.get(name)
}
after(async () => {
  for (const module of loaded.values()) await (await module).dispose()
})

const bytesOf = ({ buffer, byteOffset, byteLength }) => [...new Uint8Array(buffer, byteOffset, byteLength)]
const floats = [0, -0, 1.5, -1e-40, 3.4e38, Infinity, -Infinity, NaN]
const bits = Uint32Array.of(0x7fc00001, 0xffc12345, 0x00000001, 0x80000000)

const EXTREMES = {
  float32: Float32Array.from(floats),
  float64: Float64Array.of(...floats, Number.MIN_VALUE, Number.MAX_VALUE, 2 ** 53 + 2),
  float16: Uint16Array.of(0, 0x8000, 0x3c00, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x7e01),
  bfloat16: Uint16Array.of(0, 0x8000, 0x3f80, 0x0001, 0x7f7f, 0x7f80, 0xff80, 0x7fc1),
  int8: Int8Array.of(-128, -1, 0, 127),
  int16: Int16Array.of(-32768, -1, 0, 32767),
  int32: Int32Array.of(-(2 ** 31), -1, 0, 2 ** 31 - 1),
  int64: BigInt64Array.of(-(2n ** 63n), -1n, 0n, 2n ** 53n + 1n, 2n ** 63n - 1n),
  uint8: Uint8Array.of(0, 1, 128, 255),
  uint16: Uint16Array.of(0, 1, 32768, 65535),
  uint32: Uint32Array.of(0, 1, 2 ** 31, 2 ** 32 - 1),
  uint64: BigUint64Array.of(0n, 1n, 2n ** 63n, 2n ** 64n - 1n),
  bool: Uint8Array.of(0, 1, 1, 0),
  float8e4m3fn: Uint8Array.of(0, 0x7e, 0x7f, 0xff),
  float8e5m2: Uint8Array.of(0, 0x7b, 0x7c, 0xff)
}

for (const [dtype, data] of Object.entries(EXTREMES)) {
  test(`${dtype} comes back bit for bit, from run and from runSync`, async () => {
    const module = await load(`identity_${dtype}`)
    const before = bytesOf(data)
    for (const { y } of [await module.run({ x: data }), module.runSync({ x: data })]) {
      assert.ok(y instanceof Tensor)
      assert.equal(y.type, dtype)
      const half = dtype === 'float16' && globalThis.Float16Array
      assert.equal(y.data.constructor, half || data.constructor)
      assert.deepEqual(y.dims, [data.length])
      assert.deepEqual(bytesOf(y.data), before)
    }
    assert.deepEqual(bytesOf(data), before, 'the input is as it was')
  })
}

test('not-a-numbers keep their payload', async () => {
  const { y } = await (await load('identity_float32')).run(new Float32Array(bits.buffer))
  assert.deepEqual(new Uint32Array(y.data.buffer), bits)
})

const noHalf = globalThis.Float16Array === undefined && 'this Node has no Float16Array'
test('float16 is taken as Float16Array and as plain numbers', { skip: noHalf }, async () => {
  const module = await load('identity_float16')
  for (const x of [globalThis.Float16Array?.of(1.5, -2), [1.5, -2]]) {
    assert.deepEqual([...(await module.run({ x })).y.data], [1.5, -2])
  }
})

test('strings come back as they were', async () => {
  const text = ['', 'é', '模', 'a\0b', '\0', '🚀', 'x'.repeat(100_000), 'cat']
  for (const outputs of [await (await load('strings')).run({ text }), (await load('strings')).runSync({ text })]) {
    assert.deepEqual(outputs.echo.data, text)
    assert.equal(outputs.echo.type, 'string')
    assert.deepEqual(outputs.label.data, BigInt64Array.of(-1n, -1n, -1n, -1n, -1n, -1n, -1n, 0n))
  }
})

test('a lone surrogate is refused', async () => {
  const module = await load('strings')
  for (const text of [['a', '\ud800'], { data: ['\udc00x'], dims: [1] }]) {
    const details = { input: 'text', message: /lone surrogate/ }
    await throwsFault(module.run({ text }), RangeError, 'ERR_INPUT_VALUE', details)
  }
})

test('booleans are taken as Uint8Array, booleans, and zeros and ones', async () => {
  const module = await load('identity_bool')
  for (const x of [Uint8Array.of(1, 0, 1), [true, false, true], [1, 0, 1], { data: [true, false, true], dims: [3] }]) {
    const { y } = await module.run({ x })
    assert.deepEqual({ type: y.type, data: y.data }, { type: 'bool', data: Uint8Array.of(1, 0, 1) })
  }
  await throwsFault(module.run({ x: [2] }), RangeError, 'ERR_INPUT_VALUE', { input: 'x', received: 2 })
})

test('int64 takes integers, bigints and BigInt64Array alike', async () => {
  const module = await load('identity_int64')
  for (const x of [[1, 2], [1n, 2n], [1, 2n], BigInt64Array.of(1n, 2n)]) {
    assert.deepEqual((await module.run({ x })).y.data, BigInt64Array.of(1n, 2n))
  }
})

test('int64 refuses Int32Array, fractions, unsafe integers and what does not fit', async () => {
  const module = await load('identity_int64')
  const type = { input: 'x', expected: 'int64', received: 'int32' }
  await throwsFault(module.run({ x: Int32Array.of(1, 2) }), TypeError, 'ERR_INPUT_TYPE', type)
  for (const value of [1.5, 2 ** 53 + 1, NaN, -Infinity, 2n ** 63n]) {
    await throwsFault(module.run({ x: [1, value] }), RangeError, 'ERR_INPUT_VALUE', { input: 'x', received: value })
  }
  for (const value of ['1', true, null, {}]) {
    await throwsFault(module.run({ x: [value] }), TypeError, 'ERR_INPUT_VALUE', { input: 'x', received: value })
  }
})

test('plain numbers that an integer type cannot hold are refused', async () => {
  const beyond = { int8: 128, uint8: 256, int16: -32769, uint16: -1, int32: 2 ** 31, uint32: 2 ** 32, uint64: -1 }
  for (const [dtype, value] of Object.entries(beyond)) {
    const module = await load(`identity_${dtype}`)
    await throwsFault(module.run([value]), RangeError, 'ERR_INPUT_VALUE', { input: 'x', received: value })
  }
})

const x = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8)
const FORMS = {
  'a bare typed array': x,
  'by name': { x },
  'by name, without a prototype': Object.assign(Object.create(null), { x }),
  'by name, others undefined': { x, other: undefined },
  'by position': [x],
  'data and dims': { x: { data: x, dims: [2, 4] } },
  'data and shape': { x: { data: x, shape: [2, 4] } },
  'data, dims and type': { x: { data: x, dims: [2, 4], type: 'float32' } },
  'data and dims as the only input': { data: x, dims: [2, 4] },
  'plain numbers and dims': { x: { data: [...x], dims: [2, 4] } },
  'raw bytes with their type': { x: { data: Buffer.from(x.buffer), dims: [2, 4], type: 'float32' } },
  'nested arrays': {
    x: [
      [1, 2, 3, 4],
      [5, 6, 7, 8]
    ]
  },
  'nested arrays as the only input': [
    [1, 2, 3, 4],
    [5, 6, 7, 8]
  ],
  'flat numbers': [1, 2, 3, 4, 5, 6, 7, 8],
  'a Tensor': { x: new Tensor('float32', x, [2, 4]) },
  'a Tensor as the only input': new Tensor(x, [2, 4]),
  'a tensor of onnxruntime-common': { x: new CommonTensor('float32', x, [2, 4]) },
  'a tensor of onnxruntime-common by position': [new CommonTensor(x, [2, 4])]
}

for (const [form, inputs] of Object.entries(FORMS)) {
  test(`inputs given as ${form} are understood`, async () => {
    const module = await load('identity')
    const expected = [{ name: 'y', type: 'float32', dims: [2, 4], data: x }]
    assert.deepEqual(plain(await module.run(inputs)), expected)
    assert.deepEqual(plain(module.runSync(inputs)), expected)
  })
}

test('tensors of onnxruntime-common of every kind are taken, and ours can be handed back to it', async () => {
  const strings = (await (await load('strings')).run(new CommonTensor('string', ['cat', '模'], [2]))).echo
  assert.deepEqual(strings.data, ['cat', '模'])
  const bools = (await (await load('identity_bool')).run(new CommonTensor('bool', [true, false], [2]))).y
  assert.deepEqual(bools.data, Uint8Array.of(1, 0))
  const longs = (await (await load('identity_int64')).run(new CommonTensor('int64', [5n, -6n], [2]))).y
  assert.deepEqual(longs.data, BigInt64Array.of(5n, -6n))
  const { type, data, dims } = new CommonTensor(longs.type, longs.data, longs.dims)
  assert.deepEqual({ type, data, dims }, { type: 'int64', data: longs.data, dims: [2] })
})

test('several inputs go by name in any order, or by position in graph order', async () => {
  const module = await load('names')
  const a = Float32Array.of(1, 2, 3, 4)
  const ids = Int32Array.of(10)
  const expected = plain(await module.run({ 'a.b/c:0': a, 'ids:0': ids }))
  assert.equal(expected[0].name, 'out.x/y:0')
  for (const inputs of [{ 'ids:0': ids, 'a.b/c:0': a }, [a, ids], [[[1, 2, 3, 4]], [[10]]], [a, 10]]) {
    assert.deepEqual(plain(await module.run(inputs)), expected)
  }
})

test('inputs and outputs may be called __proto__, constructor, toString and hasOwnProperty', async () => {
  const module = await load('dunder')
  const values = { ['__proto__']: Float32Array.of(5, 6), constructor: Float32Array.of(1, 2) }
  for (const inputs of [values, JSON.parse('{"__proto__":[5,6],"constructor":[1,2]}'), Object.values(values)]) {
    const outputs = await module.run(inputs)
    assert.deepEqual(Object.keys(outputs), ['toString', 'hasOwnProperty'])
    assert.deepEqual(outputs.toString.data, Float32Array.of(6, 8))
    assert.deepEqual(outputs.hasOwnProperty.data, Float32Array.of(4, 4))
  }
  const inherited = { input: '__proto__', received: ['constructor'] }
  await throwsFault(module.run({ constructor: [1, 2] }), TypeError, 'ERR_INPUT_MISSING', inherited)
})

test('scalars go as a number, an array of one and a tensor without dims', async () => {
  const module = await load('scalar')
  const two = Float32Array.of(2)
  for (const input of [2, [2], two, { data: [2], dims: [] }, new Tensor('float32', two, [])]) {
    const { y } = await module.run({ x: input })
    assert.deepEqual(
      { dims: y.dims, data: y.data, size: y.size, value: y.toArray() },
      { dims: [], data: Float32Array.of(3), size: 1, value: 3 }
    )
  }
  const flow = await load('control_flow')
  const ones = new Float32Array(8).fill(1)
  const { acc, trace } = await flow.run({ x: { data: ones, dims: [1, 8] }, n: 3, flag: true })
  assert.deepEqual(acc.data, new Float32Array(8).fill(8))
  assert.deepEqual(trace.data, Float32Array.of(32, 48, 64))
})

test('dimensions of zero are kept', async () => {
  const module = await load('two_unknowns')
  for (const dims of [
    [3, 0],
    [0, 2],
    [0, 0]
  ]) {
    const { y } = await module.run({ x: { data: new Float32Array(0), dims } })
    assert.deepEqual({ dims: y.dims, length: y.data.length }, { dims, length: 0 })
  }
  assert.deepEqual((await (await load('identity_string')).run([])).y.dims, [0])
  assert.deepEqual((await (await load('identity_uint8')).run(new Uint8Array(0))).y.dims, [0])
  const { y } = await (await load('concat')).run({ a: { data: [], dims: [0, 2] }, b: [[1, 2]] })
  assert.deepEqual({ dims: y.dims, data: y.data }, { dims: [1, 2], data: Float32Array.of(1, 2) })
})

test('views count for what they show: subarrays, odd offsets, shared memory', async () => {
  const whole = Float32Array.from({ length: 12 }, (_, index) => index)
  const odd = Buffer.alloc(17)
  Buffer.from(whole.buffer, 16, 16).copy(odd, 1)
  const shared = new Float32Array(new SharedArrayBuffer(32), 8, 4)
  shared.set([4, 5, 6, 7])
  const views = [whole.subarray(4, 8), shared, { data: odd.subarray(1), dims: [1, 4], type: 'float32' }]
  const module = await load('identity')
  for (const view of views) {
    assert.deepEqual((await module.run({ x: view })).y.data, Float32Array.of(4, 5, 6, 7))
    assert.deepEqual(module.runSync({ x: view }).y.data, Float32Array.of(4, 5, 6, 7))
  }
  const bytes = await load('identity_uint8')
  assert.deepEqual((await bytes.run(odd.subarray(1, 4))).y.data, new Uint8Array(odd.subarray(1, 4)))
})

test('the values at call time count when the input is overwritten or given away right after', async () => {
  const module = await load('identity')
  const first = Float32Array.of(1, 2, 3, 4)
  const running = module.run({ x: first })
  first.fill(9)
  const second = Float32Array.of(5, 6, 7, 8)
  const dims = [1, 4]
  const given = { data: second, dims }
  const other = module.run({ x: given })
  structuredClone(second.buffer, { transfer: [second.buffer] })
  dims[0] = 2
  given.data = null
  const text = ['a', 'b']
  const third = (await load('identity_string')).run({ x: text })
  text[0] = 'overwritten'
  assert.deepEqual((await running).y.data, Float32Array.of(1, 2, 3, 4))
  assert.deepEqual((await other).y.data, Float32Array.of(5, 6, 7, 8))
  assert.deepEqual((await other).y.dims, [1, 4])
  assert.deepEqual((await third).y.data, ['a', 'b'])
})

test('outputs belong to the caller', async () => {
  const module = await load('identity')
  const { y } = await module.run({ x })
  y.data.fill(0)
  assert.deepEqual((await module.run({ x })).y.data, x)
  assert.deepEqual(x, Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8))
  structuredClone(y.data.buffer, { transfer: [y.data.buffer] })
})

test('outputs come in graph order, sequences as arrays and maps as Maps', async () => {
  const { chunks, count } = await (
    await load('sequence')
  ).run({
    x: [
      [1, 2, 3, 4],
      [5, 6, 7, 8]
    ]
  })
  assert.deepEqual(
    chunks.map(({ dims, data }) => ({ dims, data })),
    [
      { dims: [1, 4], data: Float32Array.of(1, 2, 3, 4) },
      { dims: [1, 4], data: Float32Array.of(5, 6, 7, 8) }
    ]
  )
  assert.deepEqual(count.toArray(), 2n)
  const outputs = await (await load('zipmap')).run([[1, 2, 3, 4]])
  assert.deepEqual(Object.keys(outputs), ['output_label', 'output_probability'])
  const [scores] = outputs.output_probability
  assert.ok(scores instanceof Map)
  assert.deepEqual([...scores.keys()], ['setosa', 'versicolor', 'virginica'])
  assert.ok(Math.abs([...scores.values()].reduce((sum, score) => sum + score, 0) - 1) < 1e-5)
})

test('a module tells what runs it', async () => {
  const module = await OnnxModule.load(generated('identity'), { threads: 1, callers: 3, graphOptimization: 'basic' })
  const { settings, ...backend } = module.backend
  assert.deepEqual(settings.callers, 3)
  assert.equal(settings.backend.threads, 1)
  assert.equal(settings.backend.graphOptimization, 'basic')
  assert.equal(settings.backend.spinning, false)
  assert.deepEqual({ name: backend.name, provider: backend.provider }, { name: 'onnxruntime', provider: 'cpu' })
  assert.match(backend.version, /^1\.\d+\.\d+$/)
  assert.equal(module.device, 'cpu')
  assert.deepEqual(module.graphInfo.inputNames, ['x'])
  await module.dispose()
})
