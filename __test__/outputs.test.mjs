// `outputs` and `into`: which outputs a run gives, and whose memory they are in.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { Tensor as CommonTensor } from 'onnxruntime-common'

import { OnnxModule, OnnxTuneError, Tensor } from '../index.js'
import { caught, extended, field, generated, numbers, runQuietly, throwsFault } from './helpers.mjs'

const limit = { timeout: 60_000 }
const loaded = new Map()
const load = (name) => {
  if (!loaded.has(name)) loaded.set(name, OnnxModule.load(generated(name)))
  return loaded.get(name)
}
after(async () => {
  for (const module of loaded.values()) await (await module).dispose()
})

// Both ways of running; a fault of either is a rejection.
const WAYS = {
  run: (module, inputs, options) => module.run(inputs, options),
  runSync: async (module, inputs, options) => module.runSync(inputs, options)
}

// dunder: __proto__ and constructor to their sum `toString` and their difference `hasOwnProperty`.
const pair = [Float32Array.of(5, 6), Float32Array.of(1, 2)]
const sum = Float32Array.of(6, 8)
const difference = Float32Array.of(4, 4)

for (const [way, run] of Object.entries(WAYS)) {
  test(`${way} gives the outputs asked for, in graph order and each once`, limit, async () => {
    const module = await load('dunder')
    const both = ['toString', 'hasOwnProperty']
    const wanted = [
      [['toString'], ['toString']],
      [['hasOwnProperty'], ['hasOwnProperty']],
      [[...both].reverse(), both],
      [['toString', 'toString'], ['toString']],
      [undefined, both]
    ]
    for (const [outputs, expected] of wanted) {
      const given = await run(module, pair, { outputs })
      assert.deepEqual(Object.keys(given), expected)
      if (expected.includes('toString')) assert.deepEqual(given.toString.data, sum)
      if (expected.includes('hasOwnProperty')) assert.deepEqual(given.hasOwnProperty.data, difference)
    }
  })

  test(`${way} refuses outputs that the graph doesn't have`, limit, async () => {
    const module = await load('dunder')
    const expected = ['toString', 'hasOwnProperty']
    for (const outputs of [['tostrin'], ['toString', 'tostrin']]) {
      const details = { output: 'tostrin', received: 'tostrin', expected, hint: 'did you mean "toString"?' }
      await throwsFault(run(module, pair, { outputs }), TypeError, 'ERR_OUTPUT_UNKNOWN', details)
    }
    for (const name of ['constructor', '__proto__', '']) {
      const details = { output: name, expected, hint: undefined }
      await throwsFault(run(module, pair, { outputs: [name] }), TypeError, 'ERR_OUTPUT_UNKNOWN', details)
    }
    const into = { valueOf: new Float32Array(2) }
    await throwsFault(run(module, pair, { into }), TypeError, 'ERR_OUTPUT_UNKNOWN', { output: 'valueOf' })
    // An output that is not asked for has nothing to be written.
    const left = { outputs: ['toString'], into: { hasOwnProperty: new Float32Array(2) } }
    const details = { output: 'hasOwnProperty', expected: ['toString'] }
    await throwsFault(run(module, pair, left), TypeError, 'ERR_OUTPUT_UNKNOWN', details)
    for (const outputs of ['toString', [], [1], {}, null]) {
      assert.equal((await caught(run(module, pair, { outputs }))).code, 'ERR_OPTION', String(outputs))
    }
    for (const wrong of [[], 'toString', 5, null]) {
      assert.equal((await caught(run(module, pair, { into: wrong }))).code, 'ERR_OPTION', String(wrong))
    }
  })

  test(`${way} writes outputs to the caller's arrays`, limit, async () => {
    const module = await load('dunder')
    const backing = new Float32Array(6).fill(9)
    const shared = new Float32Array(new SharedArrayBuffer(16), 8)
    const tensor = new Tensor('float32', new Float32Array(2), [2])
    const common = new CommonTensor('float32', new Float32Array(2), [2])
    const targets = [
      [new Float32Array(2), (given) => given],
      [backing.subarray(3, 5), (given) => given],
      [shared, (given) => given],
      [tensor, (given) => given.data],
      [common, (given) => given.data],
      [{ data: new Float32Array(2) }, (given) => given.data]
    ]
    for (const [given, arrayOf] of targets) {
      const outputs = await run(module, pair, { into: { toString: given } })
      assert.ok(outputs.toString instanceof Tensor)
      assert.equal(outputs.toString.data, arrayOf(given), 'the array itself')
      assert.deepEqual([...arrayOf(given)], [...sum])
      assert.deepEqual(outputs.toString.dims, [2])
      // The other one has an array of its own.
      assert.deepEqual(outputs.hasOwnProperty.data, difference)
    }
    assert.deepEqual([...backing], [9, 9, 9, 6, 8, 9], 'and nothing around it')
    const all = { toString: new Float32Array(2), hasOwnProperty: new Float32Array(2) }
    const outputs = await run(module, pair, { into: all })
    assert.equal(outputs.toString.data, all.toString)
    assert.equal(outputs.hasOwnProperty.data, all.hasOwnProperty)
    assert.deepEqual(all, { toString: sum, hasOwnProperty: difference })
    const one = new Float32Array(2)
    const selected = await run(module, pair, { outputs: ['hasOwnProperty'], into: { hasOwnProperty: one } })
    assert.deepEqual(Object.keys(selected), ['hasOwnProperty'])
    assert.deepEqual(one, difference)
    // Undefined stands for left out.
    assert.deepEqual((await run(module, pair, { into: undefined })).toString.data, sum)
  })

  test(`${way} refuses arrays of another kind before anything runs`, limit, async () => {
    const module = await load('dunder')
    const wrong = [
      new Float64Array(2),
      new Int32Array(2),
      Buffer.alloc(8),
      new DataView(new ArrayBuffer(8)),
      new ArrayBuffer(8),
      [0, 0],
      'two',
      null,
      undefined,
      { dims: [2] },
      new Tensor('float64', new Float64Array(2)),
      new Tensor('string', ['a', 'b']),
      // The right array for another type.
      new Tensor('complex64', new Float32Array(2))
    ]
    for (const given of wrong) {
      const good = new Float32Array(2)
      const into = { hasOwnProperty: good, toString: given }
      await throwsFault(run(module, pair, { into }), TypeError, 'ERR_INTO', {
        output: 'toString',
        expected: ['Float32Array'],
        message: /"toString" is a tensor\(float32\)/
      })
      assert.deepEqual([...good], [0, 0])
    }
    const strings = { into: { output_label: ['a'] } }
    const label = { output: 'output_label' }
    await throwsFault(run(await load('zipmap'), numbers(4), strings), TypeError, 'ERR_INTO', label)
    for (const name of ['chunks', 'count']) {
      const options = { into: { [name]: new Float32Array(4) } }
      await throwsFault(run(await load('sequence'), numbers(4), options), TypeError, 'ERR_INTO', { output: name })
    }
  })

  test(`${way} refuses arrays of another length, and the module goes on`, limit, async () => {
    const module = await load('dunder')
    for (const length of [0, 1, 3, 1000]) {
      const given = new Float32Array(length).fill(7)
      await throwsFault(run(module, pair, { into: { toString: given } }), OnnxTuneError, 'ERR_INTO')
      assert.ok(
        given.every((value) => value === 7),
        'it is as it was'
      )
    }
    const gone = new Float32Array(2)
    structuredClone(gone.buffer, { transfer: [gone.buffer] })
    await throwsFault(run(module, pair, { into: { toString: gone } }), OnnxTuneError, 'ERR_INTO')
    const target = new Float32Array(2)
    assert.equal((await run(module, pair, { into: { toString: target } })).toString.data, target)
    assert.deepEqual(target, sum)
  })

  test(`${way} may write to the array that its input is in`, limit, async () => {
    const module = await load('dunder')
    const array = Float32Array.of(5, 6)
    const outputs = await run(module, [array, pair[1]], { into: { hasOwnProperty: array } })
    assert.deepEqual(array, difference)
    assert.deepEqual(outputs.toString.data, sum)
  })

  test(`${way} writes nothing when the run fails`, limit, async () => {
    const module = await load('dunder')
    const target = new Float32Array(3).fill(7)
    const inputs = { ['__proto__']: new Float32Array(2), constructor: new Float32Array(3) }
    await throwsFault(run(module, inputs, { into: { toString: target } }), OnnxTuneError, 'ERR_RUN_FAILED')
    assert.deepEqual([...target], [7, 7, 7])
  })

  test(`${way} writes every type of element bit for bit`, limit, async () => {
    const targets = {
      float16: [Uint16Array.of(0x3c00, 0x7e01, 0x8000), Uint16Array],
      bfloat16: [Uint16Array.of(0x3f80, 0x7fc1, 0x8000), Uint16Array],
      int64: [BigInt64Array.of(-(2n ** 63n), 1n, 2n ** 63n - 1n), BigInt64Array],
      uint64: [BigUint64Array.of(0n, 1n, 2n ** 64n - 1n), BigUint64Array],
      float64: [Float64Array.of(-0, 5e-324, 1e300), Float64Array],
      uint8: [Uint8Array.of(0, 128, 255), Uint8ClampedArray],
      bool: [Uint8Array.of(1, 0, 1), Uint8Array],
      float8e5m2: [Uint8Array.of(0, 0x7c, 0xff), Uint8Array],
      int16: [Int16Array.of(-32768, 0, 32767), Int16Array]
    }
    if (globalThis.Float16Array) {
      targets['float16 '] = [targets.float16[0], globalThis.Float16Array]
    }
    for (const [name, [data, Target]] of Object.entries(targets)) {
      const dtype = name.trim()
      const target = new Target(data.length)
      const { y } = await run(await load(`identity_${dtype}`), { x: data }, { into: { y: target } })
      const bytes = ({ buffer, byteOffset, byteLength }) => [...new Uint8Array(buffer, byteOffset, byteLength)]
      assert.equal(y.type, dtype)
      assert.deepEqual(bytes(target), bytes(data), name)
      assert.equal(y.data.buffer, target.buffer, name)
    }
  })
}

// 4 MB through identity, whose result cannot be there before the call returns.
const rows = 1 << 18
const large = () => ({ data: numbers(4 * rows), dims: [rows, 4] })

test(
  'a target that is changed before the result comes gives a coded error or the values, and never more',
  limit,
  async () => {
    const module = await load('identity')
    const inputs = large()
    const size = inputs.data.byteLength
    const resizable = () => new ArrayBuffer(size, { maxByteLength: 2 * size })
    const changes = {
      'transferred to another owner': [
        () => new Float32Array(4 * rows),
        ({ buffer }) => structuredClone(buffer, { transfer: [buffer] })
      ],
      shrunk: [() => new Float32Array(resizable()), ({ buffer }) => buffer.resize(size / 2)],
      'shrunk to nothing': [() => new Float32Array(resizable()), ({ buffer }) => buffer.resize(0)],
      grown: [() => new Float32Array(resizable()), ({ buffer }) => buffer.resize(2 * size)],
      'shrunk under a fixed view': [() => new Float32Array(resizable(), 0, 4 * rows), ({ buffer }) => buffer.resize(8)]
    }
    for (const [name, [make, change]] of Object.entries(changes)) {
      const target = make()
      assert.equal(target.byteLength, size, name)
      const running = module.run(inputs, { into: { y: target } })
      change(target)
      const error = await caught(running)
      assert.equal(`${error.name} ${error.code}`, 'OnnxTuneError ERR_INTO', `${name}: ${error.message}`)
    }
    // A view of fixed length stays whole when what is behind it grows.
    const target = new Float32Array(resizable(), 0, 4 * rows)
    const running = module.run(inputs, { into: { y: target } })
    target.buffer.resize(2 * size)
    assert.equal((await running).y.data, target)
    assert.deepEqual(target, inputs.data)
    // Resized there and back it is long enough again.
    const back = new Float32Array(resizable())
    const again = module.run(inputs, { into: { y: back } })
    back.buffer.resize(0)
    back.buffer.resize(size)
    await again
    assert.deepEqual(back, inputs.data)
  }
)

test('a target is used as it was at the call, whatever becomes of the object that named it', limit, async () => {
  const module = await load('identity')
  const inputs = large()
  const [target, other] = [new Float32Array(4 * rows), new Float32Array(4 * rows)]
  const into = { y: target }
  const running = module.run(inputs, { into })
  into.y = other
  assert.equal((await running).y.data, target)
  assert.deepEqual(target, inputs.data)
  assert.ok(other.every((value) => value === 0))
})

test('two runs may write to one array: the last to end is what it holds, whole', limit, async () => {
  const module = await load('identity')
  const target = new Float32Array(4 * rows)
  const inputs = [1, 2].map((value) => ({ data: new Float32Array(4 * rows).fill(value), dims: [rows, 4] }))
  const results = await Promise.all(inputs.map((input) => module.run(input, { into: { y: target } })))
  for (const { y } of results) assert.equal(y.data, target)
  const [first] = target
  assert.ok(first === 1 || first === 2)
  assert.ok(target.every((value) => value === first))
})

test('a target outlives the program forgetting it', limit, async () => {
  // Nothing but the run refers to the arrays while it waits and runs.
  const outcome = await runQuietly(
    `const module = await onnxtune.OnnxModule.load(generated('identity'), { callers: 1 })
    const runs = Array.from({ length: 20 }, (_, index) => {
      const inputs = { data: new Float32Array(1 << 18).fill(index), dims: [1 << 16, 4] }
      return module.run(inputs, { into: { y: new Float32Array(1 << 18) } })
    })
    for (let round = 0; round < 5; round++) {
      gc()
      await new Promise(setImmediate)
    }
    const outputs = await Promise.all(runs)
    console.log(outputs.every(({ y }, index) => y.data.every((value) => value === index)))`,
    { args: ['--expose-gc'] }
  )
  assert.equal(outcome, true)
})

test('an output that is an input passed on has its values', limit, async () => {
  // `x` itself is a second output: the runtime hands out the memory of the input.
  const shape = field(2, [field(1, field(2, 'batch')), field(1, field(1, 4))])
  const output = field(12, [field(1, 'x'), field(2, field(1, [field(1, 1), shape]))].flat())
  const model = JSON.stringify(extended('identity', field(7, output)).toString('base64'))
  const outcome = await runQuietly(
    `const module = await onnxtune.OnnxModule.load(Buffer.from(${model}, 'base64'))
    let wrong = 0
    for (const length of [4, 64, 1024, 1 << 18]) {
      for (let round = 1; round <= 20; round++) {
        const data = () => new Float32Array(length).fill(round)
        const runs = Array.from({ length: 8 }, () => module.run(data()))
        const outputs = [...(await Promise.all(runs)), module.runSync(data())]
        wrong += outputs.filter(({ x, y }) => [x, y].some(({ data }) => data.some((value) => value !== round))).length
      }
    }
    console.log(wrong)`
  )
  assert.equal(outcome, 0)
})

test('ignoreExtraInputs leaves out what the graph does not have, and nothing else', limit, async () => {
  const module = await load('identity')
  const inputs = { x: numbers(4), attention_mask: 'whatever', z: null }
  for (const run of Object.values(WAYS)) {
    assert.deepEqual((await run(module, inputs, { ignoreExtraInputs: true })).y.data, inputs.x)
    for (const options of [{ ignoreExtraInputs: false }, {}]) {
      const unknown = { input: 'attention_mask' }
      await throwsFault(run(module, inputs, options), TypeError, 'ERR_INPUT_UNKNOWN', unknown)
    }
    const missing = run(module, { y: 1 }, { ignoreExtraInputs: true })
    await throwsFault(missing, TypeError, 'ERR_INPUT_MISSING', { input: 'x' })
    await throwsFault(run(module, inputs, { ignoreExtraInputs: 'yes' }), TypeError, 'ERR_OPTION')
  }
})
