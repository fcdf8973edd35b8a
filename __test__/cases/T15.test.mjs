// T15 (tensorflow/tfjs PR#3334, napi-rs#2261): a view is read from the beginning of its buffer, or an input at some time
// after the call.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule, inspect } from '../../index.js'
import { generated, nextTurn, throwsFault } from '../helpers.mjs'

const modules = {}
for (const name of ['float32', 'uint8', 'int64', 'bool', 'string']) {
  modules[name] = await OnnxModule.load(generated(`identity_${name}`))
}
modules.concat = await OnnxModule.load(generated('concat'))
after(() => Promise.all(Object.values(modules).map((module) => module.dispose())))

const LENGTH = 1000
const floats = (offset = 0) => Float32Array.from({ length: LENGTH }, (_, index) => index / 7 + offset)
const bytesOf = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString('hex')

// A view of some elements in the middle of memory that holds others, with the whole of it to see what changed.
const VIEWS = {
  'a subarray': () => {
    const whole = new Float32Array(LENGTH + 7).fill(-1)
    return { whole, view: whole.subarray(3, 3 + LENGTH) }
  },
  'a subarray of a subarray': () => {
    const whole = new Float32Array(LENGTH + 9).fill(-1)
    return { whole, view: whole.subarray(2).subarray(3, 3 + LENGTH) }
  },
  'a view on a SharedArrayBuffer': () => {
    const whole = new Float32Array(new SharedArrayBuffer(4 * (LENGTH + 5))).fill(-1)
    return { whole, view: new Float32Array(whole.buffer, 8, LENGTH) }
  },
  'a view on a resizable buffer': () => {
    const whole = new Float32Array(new ArrayBuffer(4 * (LENGTH + 5), { maxByteLength: 1 << 20 })).fill(-1)
    return { whole, view: new Float32Array(whole.buffer, 4, LENGTH) }
  },
  'a view on a pooled Buffer': () => {
    const whole = Buffer.alloc(4 * (LENGTH + 5), 255)
    return { whole, view: new Float32Array(whole.buffer, whole.byteOffset + 8, LENGTH) }
  }
}

for (const [what, make] of Object.entries(VIEWS)) {
  test(`${what} is read elsewhere, late, or changed`, async () => {
    const { whole, view } = make()
    view.set(floats())
    const before = bytesOf(whole)
    for (const x of [view, { data: view, dims: [LENGTH] }]) {
      assert.deepEqual(modules.float32.runSync({ x }).y.data, floats())
      assert.deepEqual((await modules.float32.run({ x })).y.data, floats())
      assert.equal(bytesOf(whole), before, 'the input is as it was')
      const running = modules.float32.run({ x })
      view.fill(9)
      await nextTurn()
      assert.deepEqual((await running).y.data, floats())
      assert.ok(view.every((value) => value === 9))
      view.set(floats())
    }
  })

  test(`${what} given in into is missed, or its neighbours are written to`, async () => {
    const { whole, view } = make()
    const outside = (bytes) => bytes.replace(bytesOf(view), '')
    const neighbours = outside(bytesOf(whole))
    for (const [offset, run] of [
      [1, () => modules.float32.run(floats(1), { into: { y: view } })],
      [2, () => modules.float32.runSync(floats(2), { into: { y: view } })],
      [3, () => modules.float32.run(floats(3), { into: { y: { data: view, dims: [LENGTH] } } })]
    ]) {
      const { y } = await run()
      assert.equal(y.data, view)
      assert.deepEqual([...view], [...floats(offset)])
      assert.equal(outside(bytesOf(whole)), neighbours)
    }
    const short = whole.subarray(0, 1)
    const into = { y: short instanceof Float32Array ? short : view.subarray(1) }
    await assert.rejects(modules.float32.run(floats(4), { into }), { code: 'ERR_INTO' })
    assert.equal(outside(bytesOf(whole)), neighbours, 'nothing is written past its end')
  })
}

test('a Buffer slice at an odd offset is read elsewhere, late, or changed', async () => {
  for (const offset of [1, 3, 5, 7]) {
    const whole = Buffer.alloc(4 * LENGTH + 16, 255)
    const slice = whole.subarray(offset, offset + 4 * LENGTH)
    Buffer.from(floats().buffer).copy(slice)
    const before = bytesOf(whole)
    const raw = { data: slice, dims: [LENGTH], type: 'float32' }
    const [asBytes, asFloats] = [modules.uint8.run({ x: slice }), modules.float32.run({ x: raw })]
    assert.equal(bytesOf(modules.uint8.runSync({ x: slice }).y.data), bytesOf(floats()))
    assert.deepEqual(modules.float32.runSync({ x: raw }).y.data, floats())
    assert.equal(bytesOf(whole), before)
    slice.fill(0)
    assert.equal(bytesOf((await asBytes).y.data), bytesOf(floats()))
    assert.deepEqual((await asFloats).y.data, floats())
    const target = whole.subarray(offset, offset + 4 * LENGTH)
    assert.equal((await modules.uint8.run(Buffer.from(floats().buffer), { into: { y: target } })).y.data, target)
    assert.equal(bytesOf(whole), before, 'written where the slice is, and nowhere else')
  }
})

test('inputs that are transferred, resized or refilled right after the call lose their values', async () => {
  const [given, resizable] = [floats(), new ArrayBuffer(4 * LENGTH, { maxByteLength: 8 * LENGTH })]
  const tracking = new Float32Array(resizable)
  tracking.set(floats(1))
  const [big, flags, text] = [BigInt64Array.of(1n, 2n), [true, false], ['a', 'b']]
  const object = { data: floats(2), dims: [LENGTH] }
  const running = [
    modules.float32.run({ x: given }),
    modules.float32.run({ x: tracking }),
    modules.float32.run({ x: object }),
    modules.int64.run({ x: big }),
    modules.bool.run({ x: flags }),
    modules.string.run({ x: text })
  ]
  structuredClone(given.buffer, { transfer: [given.buffer] })
  resizable.resize(0)
  Object.assign(object, { data: null, dims: [-1] })
  big.fill(7n)
  flags.reverse()
  text.length = 0
  const data = (await Promise.all(running)).map(({ y }) => [...y.data])
  assert.deepEqual(data, [[...floats()], [...floats(1)], [...floats(2)], [1n, 2n], [1, 0], ['a', 'b']])
  for (const x of [given, tracking]) {
    const gone = { input: 'x', received: 0 }
    await throwsFault(modules.float32.run({ x: { data: x, dims: [LENGTH] } }), RangeError, 'ERR_INPUT_LENGTH', gone)
  }
  const { y } = await modules.float32.run(floats(3), { into: { y: new Float32Array(LENGTH) } })
  assert.deepEqual(y.data, floats(3))
})

test('a view that its buffer has shrunk away from is read out of bounds', async () => {
  const buffer = new ArrayBuffer(4 * LENGTH, { maxByteLength: 4 * LENGTH })
  const fixed = new Float32Array(buffer, 4, LENGTH - 1)
  buffer.resize(8)
  for (const x of [fixed, { data: fixed, dims: [LENGTH - 1] }]) {
    const outputs = await modules.float32.run({ x }).catch((error) => error)
    if (outputs instanceof Error) assert.match(outputs.code, /^ERR_INPUT_/)
    else assert.equal(outputs.y.size, 0)
  }
  await assert.rejects(modules.float32.run(floats(), { into: { y: fixed } }), { code: 'ERR_INTO' })
})

test('an input in whose getter a model is run gets the shapes of that run', async () => {
  const inner = () => modules.concat.runSync({ a: { data: new Float32Array(14), dims: [7, 2] }, b: [[5, 6]] }).y
  const lazy = {
    get data() {
      return inner().data.subarray(14)
    },
    get dims() {
      inner()
      return [1, 2]
    }
  }
  const given = { data: Float32Array.of(1, 2, 3, 4), dims: [2, 2] }
  for (const inputs of [{ a: given, b: lazy }, [given, lazy], { a: given.data, b: lazy }]) {
    for (const { y } of [await modules.concat.run(inputs), modules.concat.runSync(inputs)]) {
      assert.deepEqual({ dims: y.dims, data: [...y.data] }, { dims: [3, 2], data: [1, 2, 3, 4, 5, 6] })
    }
  }
})

test('samples of a dataset that reuses one array are all the last', async () => {
  const shared = new Float32Array(2)
  function* samples() {
    for (let index = 1; index <= 3; index++) yield shared.subarray(0, 1 + (index % 2)).fill(index)
  }
  const {
    modules: [found]
  } = await inspect(modules.float32, samples(), { iterations: 3, warmup: 0 })
  assert.deepEqual(found.inputTypes.flat().sort(), ['float32[1]', 'float32[2]'])
})
