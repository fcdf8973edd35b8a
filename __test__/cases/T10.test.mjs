// T10 (microsoft/onnxruntime#26841, microsoft/onnxruntime-genai#1567): a dimension of 0 vanishes, or becomes 1.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule, Tensor } from '../../index.js'
import { generated, throwsFault } from '../helpers.mjs'

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
  string: Array,
  float8e5m2: Uint8Array
}
const modules = {}
for (const name of ['concat4', 'rank0', 'rank3', ...Object.keys(ARRAYS).map((dtype) => `identity_${dtype}`)]) {
  modules[name] = await OnnxModule.load(generated(name))
}
after(() => Promise.all(Object.values(modules).map((module) => module.dispose())))

const told = ({ dims, data, size }) => ({ dims, data: [...data], size })
async function assertBoth(module, inputs, expected) {
  assert.deepEqual(told((await module.run(inputs)).y), expected)
  assert.deepEqual(told(module.runSync(inputs).y), expected)
}

test('Concat of [1,2,0,4] and [1,2,1,4] loses the empty part', async () => {
  const data = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  const full = { data, dims: [1, 2, 1, 4] }
  const expected = { dims: [1, 2, 1, 4], data: [...data], size: 8 }
  const nothing = new Float32Array(0)
  const empties = [
    { data: nothing, dims: [1, 2, 0, 4] },
    { data: [], dims: [1, 2, 0, 4] },
    { data: nothing, shape: [1, 2, 0, 4] },
    new Tensor('float32', nothing, [1, 2, 0, 4]),
    nothing,
    []
  ]
  for (const empty of empties) {
    await assertBoth(modules.concat4, { a: empty, b: full }, expected)
    await assertBoth(modules.concat4, [full, empty], expected)
    await assertBoth(modules.concat4, [empty, empty], { dims: [1, 2, 0, 4], data: [], size: 0 })
  }
})

test('Identity changes [0]', async () => {
  const expected = { dims: [0], data: [], size: 0 }
  for (const x of [new Float32Array(0), [], { data: [], dims: [0] }, new Tensor(new Float32Array(0))]) {
    await assertBoth(modules.identity_float32, { x }, expected)
  }
})

test('Identity changes [3,0,2]', async () => {
  for (const dims of [
    [3, 0, 2],
    [0, 3, 2],
    [3, 2, 0],
    [0, 0, 0]
  ]) {
    const x = { data: new Float32Array(0), dims }
    await assertBoth(modules.rank3, { x }, { dims, data: [], size: 0 })
    await assertBoth(modules.rank3, new Tensor(x.data, dims), { dims, data: [], size: 0 })
  }
  const { y } = await modules.rank3.run({ x: { data: [], dims: [3, 0, 2] } })
  assert.deepEqual(y.toArray(), [[], [], []])
  assert.deepEqual(y.reshape([0, 5]).dims, [0, 5])
  await assertBoth(modules.rank3, { x: y }, { dims: [3, 0, 2], data: [], size: 0 })
})

test('Identity makes a vector of a scalar', async () => {
  for (const x of [5, [5], Float32Array.of(5), { data: [5], dims: [] }, new Tensor(Float32Array.of(5), [])]) {
    await assertBoth(modules.rank0, { x }, { dims: [], data: [5], size: 1 })
  }
  const { y } = await modules.rank0.run({ x: 5 })
  assert.equal(y.toArray(), 5)
  await assertBoth(modules.rank0, { x: y }, { dims: [], data: [5], size: 1 })
})

test('nothing is read into something, or something into nothing', async () => {
  for (const [dims, length] of [
    [[3, 0, 2], 1],
    [[3, 1, 2], 0],
    [[0, 0, 0], 6]
  ]) {
    const x = { data: new Float32Array(length), dims }
    await throwsFault(modules.rank3.run({ x }), RangeError, 'ERR_INPUT_LENGTH', { input: 'x', received: length })
  }
  for (const x of [new Float32Array(0), [], { data: [], dims: [] }]) {
    await throwsFault(modules.rank0.run({ x }), RangeError, 'ERR_INPUT_LENGTH', { expected: 1, received: 0 })
  }
})

for (const [dtype, Type] of Object.entries(ARRAYS)) {
  test(`no elements of ${dtype} change type or dims`, async () => {
    const module = modules[`identity_${dtype}`]
    const nothing = new Type(0)
    const outputs = [await module.run(nothing), module.runSync({ x: { data: nothing, dims: [0] } })]
    if (dtype !== 'string') outputs.push(await module.run(nothing, { into: { y: new Type(0) } }))
    for (const { y } of outputs) {
      assert.deepEqual({ type: y.type, dims: y.dims, length: y.data.length }, { type: dtype, dims: [0], length: 0 })
    }
  })
}
