// T07 (microsoft/onnxruntime#26791, #8007, PR#32611): an element type comes back changed, or memory is read past its end.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule, OnnxTuneError, Tensor } from '../../index.js'
import { caught, generated, throwsFault } from '../helpers.mjs'

const loaded = new Map()
async function load(name) {
  if (!loaded.has(name)) loaded.set(name, await OnnxModule.load(generated(name)))
  return loaded.get(name)
}
after(() => Promise.all([...loaded.values()].map((module) => module.dispose())))

// The same bytes for every type, all 256 of them more than once: every bit pattern of a byte in every place.
const bytes = Uint8Array.from({ length: 1024 }, (_, index) => (index * 167 + (index >> 8)) & 255)
const view = (Type) => new Type(bytes.slice().buffer)
const PATTERNS = {
  float64: view(Float64Array),
  float32: view(Float32Array),
  float16: view(Uint16Array),
  bfloat16: view(Uint16Array),
  int8: view(Int8Array),
  int16: view(Int16Array),
  int32: view(Int32Array),
  int64: view(BigInt64Array),
  uint8: view(Uint8Array),
  uint16: view(Uint16Array),
  uint32: view(Uint32Array),
  uint64: view(BigUint64Array),
  bool: bytes.map((byte) => byte & 1),
  float8e4m3fn: view(Uint8Array),
  float8e4m3fnuz: view(Uint8Array),
  float8e5m2: view(Uint8Array),
  float8e5m2fnuz: view(Uint8Array)
}
const bits = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString('hex')

for (const [dtype, data] of Object.entries(PATTERNS)) {
  test(`${dtype} comes back changed`, async () => {
    const module = await load(`identity_${dtype}`)
    const target = new data.constructor(data.length)
    const ways = {
      run: await module.run({ x: data }),
      runSync: module.runSync({ x: data }),
      Tensor: await module.run({ x: new Tensor(dtype, data, [data.length]) }),
      bytes: await module.run({ x: { data: Buffer.from(data.buffer), dims: [data.length], type: dtype } }),
      into: await module.run({ x: data }, { into: { y: target } })
    }
    for (const [way, { y }] of Object.entries(ways)) {
      assert.deepEqual(
        { type: y.type, dims: y.dims, size: y.size },
        { type: dtype, dims: [data.length], size: data.length }
      )
      assert.equal(bits(y.data), bits(data), way)
    }
    assert.equal(bits(target), bits(data))
  })
}

test('the largest uint64 and the smallest int64 come back changed', async () => {
  for (const x of [[2n ** 64n - 1n, 0n], BigUint64Array.of(2n ** 64n - 1n, 0n)]) {
    assert.deepEqual((await (await load('identity_uint64')).run({ x })).y.data, BigUint64Array.of(2n ** 64n - 1n, 0n))
  }
  const { y } = await (await load('identity_int64')).run([-(2n ** 63n), 2n ** 63n - 1n])
  assert.deepEqual(y.data, BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n))
})

test('float16 comes as another class than its documentation says', async () => {
  const { y } = await (await load('identity_float16')).run(Uint16Array.of(0x3c00, 0xfc00))
  assert.equal(y.data.constructor, globalThis.Float16Array ?? Uint16Array)
  assert.deepEqual([...new Uint16Array(y.data.buffer)], [0x3c00, 0xfc00])
  if (globalThis.Float16Array === undefined) return
  const whole = globalThis.Float16Array.of(9, 1, -Infinity, 9)
  const middle = whole.subarray(1, 3)
  assert.deepEqual((await (await load('identity_float16')).run(middle)).y.data, middle)
})

test('booleans are taken in one form only', async () => {
  const module = await load('identity_bool')
  for (const x of [Uint8Array.of(1, 0, 1), [true, false, true], [1, 0, 1]]) {
    assert.deepEqual((await module.run({ x })).y.data, Uint8Array.of(1, 0, 1))
  }
})

test('strings lose a NUL, an accent or their end', async () => {
  const module = await load('identity_string')
  const x = ['', 'é', '模', 'a\0b', '\0', '🚀', 'e\u0301', '\uFEFFx', 'x'.repeat(70_000)]
  assert.deepEqual((await module.run({ x })).y.data, x)
  assert.deepEqual(module.runSync({ x: new Tensor('string', x, [3, 3]).reshape([9]) }).y.data, x)
  for (const lone of ['\ud83d', 'a\ude80', '\ude80\ud83d']) {
    await throwsFault(module.run({ x: ['fine', lone] }), RangeError, 'ERR_INPUT_VALUE', { input: 'x', received: lone })
  }
})

// [numbers, bits for each, the numbers packed with the first one lowest]
const PACKED = {
  int4: [4, [-8, 7, -1], [0x78, 0x0f]],
  uint4: [4, [0, 15, 9], [0xf0, 0x09]],
  int2: [2, [-2, 1, -1], [0x36]],
  uint2: [2, [0, 3, 2], [0x2c]]
}
for (const [dtype, [width, three, expected]] of Object.entries(PACKED)) {
  test(`${dtype} of 3 and 5 elements is read past its end`, async () => {
    const module = await load(`cast_${dtype}`)
    const five = [...three, three[1], three[0]]
    for (const numbers of [three, five, [...five, ...five, ...three], [], [three[1]]]) {
      const stored = Math.ceil((numbers.length * width) / 8)
      const empty = { packed: { data: new Uint8Array(0), dims: [0] } }
      const { repacked } = await module.run({ numbers: Float32Array.from(numbers), ...empty })
      assert.deepEqual(
        { dims: repacked.dims, length: repacked.data.length },
        { dims: [numbers.length], length: stored }
      )
      if (numbers === three) assert.deepEqual([...repacked.data], expected)
      const packed = { data: repacked.data, dims: [numbers.length] }
      const { unpacked } = await module.run({ packed, numbers: [] })
      assert.deepEqual([...unpacked.data], numbers)
      for (const wrong of [stored - 1, stored + 1].filter((length) => length >= 0)) {
        const short = { packed: { data: new Uint8Array(wrong), dims: [numbers.length] }, numbers: [] }
        await throwsFault(module.run(short), RangeError, 'ERR_INPUT_LENGTH', { input: 'packed', received: wrong })
      }
    }
  })
}

const UNSUPPORTED = ['complex64', 'complex128', 'float8e8m0', 'float4e2m1', 'int4', 'uint4', 'int2', 'uint2']
for (const dtype of UNSUPPORTED) {
  test(`${dtype}, for which the runtime has no Identity, is refused without a word about the tensor`, async () => {
    const error = await caught(OnnxModule.load(generated(`identity_${dtype}`)))
    assert.ok(error instanceof OnnxTuneError)
    assert.match(error.code, /^ERR_(OPERATOR_UNSUPPORTED|MODEL_LOAD)$/)
    assert.ok(error.message.includes(dtype), `the type is named: ${error.message}`)
    assert.match(error.message, /["']x["']/, 'the tensor is named')
  })
}
