// T08 (microsoft/onnxruntime PR#16541): an int64 input is rounded, wrapped or read from memory of another width.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule, Tensor } from '../../index.js'
import { generated, throwsFault } from '../helpers.mjs'

const modules = {}
const RANGES = {
  int8: [-128, 127, Int8Array],
  int16: [-32768, 32767, Int16Array],
  int32: [-(2 ** 31), 2 ** 31 - 1, Int32Array],
  uint8: [0, 255, Uint8Array],
  uint16: [0, 65535, Uint16Array],
  uint32: [0, 2 ** 32 - 1, Uint32Array],
  int64: [-(2n ** 63n), 2n ** 63n - 1n, BigInt64Array],
  uint64: [0n, 2n ** 64n - 1n, BigUint64Array]
}
for (const dtype of [...Object.keys(RANGES), 'float32', 'float64', 'bool']) {
  modules[dtype] = await OnnxModule.load(generated(`identity_${dtype}`))
}
after(() => Promise.all(Object.values(modules).map((module) => module.dispose())))

// Both runs, and each way to give a plain array.
async function refuses(dtype, values, Class, code, details) {
  const dims = [values.length]
  for (const x of [values, { data: values, dims }, { data: values, dims, type: dtype }]) {
    await throwsFault(modules[dtype].run({ x }), Class, code, { input: 'x', ...details })
    await throwsFault(() => modules[dtype].runSync({ x }), Class, code, { input: 'x', ...details })
  }
}

for (const [dtype, Type] of [
  ['int64', BigInt64Array],
  ['uint64', BigUint64Array]
]) {
  test(`${dtype} as [1,2], [1n,2n] and ${Type.name} are three different things`, async () => {
    for (const x of [[1, 2], [1n, 2n], Type.of(1n, 2n), new Tensor(dtype, [1, 2], [2])]) {
      for (const { y } of [await modules[dtype].run({ x }), modules[dtype].runSync({ x })]) {
        assert.deepEqual({ dims: y.dims, data: y.data }, { dims: [2], data: Type.of(1n, 2n) })
      }
    }
  })

  test(`${dtype} takes an array of another width or of another sign`, async () => {
    const others = [Int32Array, Float64Array, Float32Array, Uint32Array, Int8Array, BigInt64Array, BigUint64Array]
    for (const Other of others.filter((one) => one !== Type)) {
      const x = Other.of(...(Other.name.startsWith('Big') ? [1n, 2n] : [1, 2]))
      for (const given of [x, { data: x, dims: [2] }]) {
        const fault = { input: 'x', expected: dtype, message: new RegExp(`${dtype}.*${Type.name}`) }
        await throwsFault(modules[dtype].run({ x: given }), TypeError, 'ERR_INPUT_TYPE', fault)
      }
    }
  })

  test(`${dtype} takes fractions, and numbers that are no longer exact`, async () => {
    for (const value of [1.5, 2 ** 53 + 1, 2 ** 53, -(2 ** 53), NaN, Infinity]) {
      await refuses(dtype, [1, value], RangeError, 'ERR_INPUT_VALUE', { received: value })
    }
    for (const value of ['1', true, null, undefined, {}, Object(1n)]) {
      await refuses(dtype, [1, value], TypeError, 'ERR_INPUT_VALUE', { received: value })
    }
    assert.deepEqual([...modules[dtype].runSync([2 ** 53 - 1]).y.data], [2n ** 53n - 1n])
  })
}

for (const [dtype, [low, high, Type]] of Object.entries(RANGES)) {
  test(`${dtype} wraps around at the ends of its range`, async () => {
    const { y } = await modules[dtype].run({ x: [low, high] })
    assert.deepEqual(y.data, Type.of(low, high))
    const one = typeof low === 'bigint' ? 1n : 1
    for (const value of [low - one, high + one]) {
      await refuses(dtype, [low, value], RangeError, 'ERR_INPUT_VALUE', { received: value })
    }
  })
}

test('integers of 32 bits and fewer take fractions, texts and bigints', async () => {
  for (const dtype of ['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32']) {
    for (const value of [0.5, -0.5, NaN, Infinity]) {
      await refuses(dtype, [value], RangeError, 'ERR_INPUT_VALUE', { received: value })
    }
    await refuses(dtype, [1n], RangeError, 'ERR_INPUT_VALUE', { received: 1n })
    for (const value of ['1', true, null, ''])
      await refuses(dtype, [value], TypeError, 'ERR_INPUT_VALUE', { received: value })
  }
})

test('floats take bigints and texts, and booleans numbers that are neither 0 nor 1', async () => {
  for (const dtype of ['float32', 'float64']) {
    await refuses(dtype, [1n], RangeError, 'ERR_INPUT_VALUE', { received: 1n })
    await refuses(dtype, ['1'], TypeError, 'ERR_INPUT_VALUE', { received: '1' })
  }
  for (const value of [2, -1, 0.5, NaN])
    await refuses('bool', [value], RangeError, 'ERR_INPUT_VALUE', { received: value })
  await refuses('bool', ['true'], TypeError, 'ERR_INPUT_VALUE', { received: 'true' })
})

test('the fault of one value among many is told without its place', async () => {
  const values = new Array(1000).fill(1)
  values[617] = 1.5
  await refuses('int64', values, RangeError, 'ERR_INPUT_VALUE', { received: 1.5 })
  await throwsFault(() => new Tensor('int64', [1, 2 ** 53], [2]), RangeError, 'ERR_INPUT_VALUE', { received: 2 ** 53 })
})
