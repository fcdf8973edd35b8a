// Sequences, maps and optionals, in and out.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { Tensor as CommonTensor } from 'onnxruntime-common'

import { OnnxModule, Tensor } from '../index.js'
import { caught, fetched, field, generated, lacks, numbers, root, runQuietly, throwsFault } from './helpers.mjs'

const limit = { timeout: 60_000 }
// A case of the onnx package, which makes the generated models.
const node = (name) => join(root, '.cache/python/onnx/backend/test/data/node', `test_${name}`, 'model.onnx')
const loaded = new Map()
const load = (source) => {
  if (!loaded.has(source)) loaded.set(source, OnnxModule.load(source))
  return loaded.get(source)
}
after(async () => {
  for (const module of loaded.values()) await (await module).dispose()
})

// The outputs of run and of runSync, which must be the same.
async function both(module, inputs, options) {
  const outputs = module.runSync(inputs, options)
  assert.deepEqual(await module.run(inputs, options), outputs)
  return outputs
}
const lists = (tensors) => tensors.map((tensor) => tensor.toArray())

test('a sequence goes in as an array of tensors in any form, and comes out as an array of Tensors', limit, async () => {
  const module = await load(node('sequence_insert_at_back'))
  assert.equal(module.graphInfo.inputs[0].type, 'sequence(tensor(int64))')
  const sequence = [
    BigInt64Array.of(1n, 2n),
    new Tensor('int64', BigInt64Array.of(3n), [1]),
    new CommonTensor('int64', BigInt64Array.of(4n), [1]),
    { data: [5, 6], dims: [2, 1] },
    { data: Buffer.from(BigInt64Array.of(7n).buffer), dims: [1], type: 'int64' },
    [
      [8, 9],
      [10n, 11n]
    ],
    [],
    12
  ]
  const { output_sequence: out } = await both(module, { sequence, tensor: [-1, -2, -3] })
  assert.ok(Array.isArray(out) && out.every((part) => part instanceof Tensor && part.type === 'int64'))
  assert.deepEqual(lists(out), [
    [1n, 2n],
    [3n],
    [4n],
    [[5n], [6n]],
    [7n],
    [
      [8n, 9n],
      [10n, 11n]
    ],
    [],
    12n,
    [-1n, -2n, -3n]
  ])
  // By position, too.
  const positional = await both(module, [[[1]], [2, 3, 4]])
  assert.deepEqual(lists(positional.output_sequence), [[1n], [2n, 3n, 4n]])
  assert.deepEqual(lists((await both(module, { sequence: [], tensor: [2, 3, 4] })).output_sequence), [[2n, 3n, 4n]])
})

test('faults of a part of a sequence are those of an input', limit, async () => {
  const module = await load(node('sequence_insert_at_back'))
  const faults = [
    [[Float32Array.of(1)], TypeError, 'ERR_INPUT_TYPE'],
    [[[1.5]], RangeError, 'ERR_INPUT_VALUE'],
    [[{ data: [1, 2], dims: [3] }], RangeError, 'ERR_INPUT_LENGTH'],
    [[[[1], [2, 3]]], RangeError, 'ERR_INPUT_SHAPE'],
    [[null], TypeError, 'ERR_INPUT_TYPE'],
    [[undefined], TypeError, 'ERR_INPUT_TYPE'],
    [new Array(2), TypeError, 'ERR_INPUT_TYPE'],
    [[new Map()], TypeError, 'ERR_INPUT_TYPE'],
    [['a'], TypeError, 'ERR_INPUT_VALUE'],
    [BigInt64Array.of(1n), TypeError, 'ERR_INPUT_TYPE'],
    [new Set(), TypeError, 'ERR_INPUT_TYPE'],
    [new Map(), TypeError, 'ERR_INPUT_TYPE'],
    [null, TypeError, 'ERR_INPUT_TYPE'],
    [3, TypeError, 'ERR_INPUT_TYPE']
  ]
  const cyclic = []
  cyclic.push(cyclic)
  faults.push([cyclic, RangeError, 'ERR_INPUT_SHAPE'])
  for (const [sequence, Class, code] of faults) {
    const inputs = { sequence, tensor: [1, 2, 3] }
    await throwsFault(module.run(inputs), Class, code, { input: 'sequence' })
    await throwsFault(() => module.runSync(inputs), Class, code, { input: 'sequence' })
  }
  await throwsFault(module.run({ tensor: [1, 2, 3] }), TypeError, 'ERR_INPUT_MISSING', { input: 'sequence' })
})

test('the parts of a sequence belong to the caller, and count as they were at the call', limit, async () => {
  const module = await load(node('sequence_insert_at_back'))
  for (const length of [3, 1000, 1 << 18]) {
    const part = () => BigInt64Array.from({ length }, (_, index) => BigInt(index))
    const runs = Array.from({ length: 8 }, () => {
      const [first, second] = [part(), part()]
      const running = module.run({ sequence: [first, second], tensor: [1, 2, 3] })
      first.fill(-1n)
      structuredClone(second.buffer, { transfer: [second.buffer] })
      return running
    })
    for (const { output_sequence: out } of await Promise.all(runs)) {
      assert.deepEqual(out[0].data, part())
      assert.deepEqual(out[1].data, part())
      assert.notEqual(out[0].data.buffer, out[1].data.buffer)
    }
  }
})

test('tensors become sequences and back', limit, async () => {
  const split = await load(generated('sequence'))
  const { chunks, count } = await both(split, { data: numbers(12), dims: [3, 4] })
  assert.deepEqual(
    chunks.map(({ dims }) => dims),
    [
      [1, 4],
      [1, 4],
      [1, 4]
    ]
  )
  assert.deepEqual(
    chunks.flatMap(({ data }) => [...data]),
    [...numbers(12)]
  )
  assert.equal(count.toArray(), 3n)
  assert.deepEqual(Object.keys(await both(split, numbers(4), { outputs: ['chunks'] })), ['chunks'])
  const none = await both(split, { data: [], dims: [0, 4] })
  assert.deepEqual([none.chunks, none.count.toArray()], [[], 0n])
  // What one model gives is what another takes.
  const pass = await load(node('identity_sequence'))
  assert.deepEqual((await both(pass, { x: chunks })).y, chunks)
})

test('several sequences, and sequences through loops and subgraphs', limit, async () => {
  const two = await load(node('sequence_map_identity_2_sequences'))
  const inputs = { x0: [[1, 2], [3]], x1: [[4], []] }
  const outputs = await both(two, inputs)
  assert.deepEqual({ y0: lists(outputs.y0), y1: lists(outputs.y1) }, { y0: inputs.x0, y1: inputs.x1 })
  const loop = await load(node('loop13_seq'))
  const { seq_res: grown } = await both(loop, { trip_count: 3, cond: true, seq_empty: [] })
  assert.deepEqual(lists(grown), [[1], [1, 2], [1, 2, 3]])
  const longer = await both(loop, { trip_count: 1, cond: true, seq_empty: [[9, 9]] })
  assert.deepEqual(lists(longer.seq_res), [[9, 9], [1]])
})

test('maps come out as Maps with the keys of their type', limit, async () => {
  const { output_label: label, output_probability: scores } = await both(await load(generated('zipmap')), [
    [1, 2, 3, 4],
    [4, 3, 2, 1]
  ])
  assert.equal(scores.length, 2)
  for (const [row, map] of scores.entries()) {
    assert.ok(map instanceof Map)
    assert.deepEqual([...map.keys()], ['setosa', 'versicolor', 'virginica'])
    assert.ok(Math.abs([...map.values()].reduce((sum, score) => sum + score) - 1) < 1e-5)
    const [best] = [...map].reduce((a, b) => (b[1] > a[1] ? b : a))
    assert.equal(best, label.data[row])
  }
})

test('a classifier of scikit-learn gives integer keys', { ...limit, skip: lacks('iris') }, async () => {
  const module = await load(fetched('iris'))
  const [{ shape }] = module.graphInfo.inputs
  const length = shape.reduce((product, dim) => product * dim, 1)
  const { probabilities } = await both(module, numbers(length))
  assert.equal(probabilities.length, shape[0])
  for (const map of probabilities) assert.deepEqual([...map.keys()], [0n, 1n, 2n])
})

// A model of one node of ai.onnx.ml from a map `m` to a tensor `y`.
function fromMap(operator, [key, value], attributes = []) {
  const tensor = (type) => field(1, field(1, type))
  const info = (number, name, type) => field(number, [field(1, name), field(2, type)].flat())
  const node = [field(1, 'm'), field(2, 'y'), field(4, operator), ...attributes, field(7, 'ai.onnx.ml')].flat()
  const map = field(5, [field(1, key), field(2, tensor(value))].flat())
  const graph = [field(1, node), field(2, 'g'), info(11, 'm', map), info(12, 'y', tensor(value))].flat()
  const opset = (domain, version) => field(8, [field(1, domain), field(2, version)].flat())
  return Buffer.from([field(1, 8), opset('', 17), opset('ai.onnx.ml', 1), field(7, graph)].flat())
}
const [FLOAT, INT64, STRING] = [1, 7, 8]
const vocabulary = ['a', 'b', 'c'].map((word) => field(9, word)).flat()
const dictionary = fromMap(
  'DictVectorizer',
  [STRING, INT64],
  [field(5, [field(1, 'string_vocabulary'), vocabulary, field(20, 8)].flat())]
)
const dense = fromMap('CastMap', [INT64, FLOAT])

test('maps go in as Maps', limit, async () => {
  const words = await load(dictionary)
  assert.equal(words.graphInfo.inputs[0].type, 'map(string,int64)')
  const counts = [
    [
      new Map([
        ['c', 3],
        ['a', 1n]
      ]),
      [1n, 0n, 3n]
    ],
    [
      new Map([
        ['b', 2n ** 62n],
        ['unknown', 5]
      ]),
      [0n, 2n ** 62n, 0n]
    ],
    [new Map(), [0n, 0n, 0n]]
  ]
  for (const [m, expected] of counts) assert.deepEqual([...(await both(words, { m })).y.data], expected)
  const casting = await load(dense)
  assert.equal(casting.graphInfo.inputs[0].type, 'map(int64,float32)')
  for (const m of [
    new Map([
      [0, 1.5],
      [1, 2.5]
    ]),
    new Map([
      [1n, 2.5],
      [0n, 1.5]
    ])
  ]) {
    assert.deepEqual([...(await both(casting, { m })).y.data], [1.5, 2.5])
  }
  // Counted as it is at the call.
  const map = new Map([['a', 1]])
  const running = words.run({ m: map })
  map.set('a', 2).set('b', 3)
  assert.deepEqual([...(await running).y.data], [1n, 0n, 0n])
})

test('faults of a map are those of an input', limit, async () => {
  const module = await load(dictionary)
  const faults = [
    [{ a: 1 }, 'ERR_INPUT_TYPE'],
    [[['a', 1]], 'ERR_INPUT_TYPE'],
    [null, 'ERR_INPUT_TYPE'],
    ['a', 'ERR_INPUT_TYPE'],
    [new Map([[1, 1]]), 'ERR_INPUT_VALUE'],
    [new Map([['\ud800', 1]]), 'ERR_INPUT_VALUE'],
    [new Map([['a', 1.5]]), 'ERR_INPUT_VALUE'],
    [new Map([['a', '1']]), 'ERR_INPUT_VALUE'],
    [new Map([['a', null]]), 'ERR_INPUT_VALUE']
  ]
  for (const [m, code] of faults) {
    const error = await caught(module.run({ m }))
    assert.deepEqual([error.code, error.input], [code, 'm'])
    assert.equal((await caught(() => module.runSync({ m }))).code, code)
  }
})

test('an optional is its value, or null or left out', limit, async () => {
  for (const name of ['optional_has_element_optional_input', 'optional_has_element_tensor_input']) {
    const module = await load(node(name))
    assert.equal(module.graphInfo.inputs[0].type, 'optional(tensor(float32))')
    const cases = [
      [{ optional_input: null }, 0],
      [{ optional_input: undefined }, 0],
      [{}, 0],
      [{ optional_input: numbers(4) }, 1],
      [{ optional_input: [1, 2, 3, 4] }, 1],
      [{ optional_input: new Tensor(numbers(4)) }, 1],
      [numbers(4), 1],
      [null, 0]
    ]
    // Twice, in turn: with and without must not get into each other's way.
    for (const [inputs, expected] of [...cases, ...cases]) {
      const { output } = await both(module, inputs)
      assert.deepEqual([output.type, output.toArray()], ['bool', expected], `${name} ${JSON.stringify(inputs)}`)
    }
    const wrong = { optional_input: new Float64Array(4) }
    await throwsFault(module.run(wrong), TypeError, 'ERR_INPUT_TYPE', { input: 'optional_input' })
  }
})

test('many runs with and without the optional at once each get their own answer', limit, async () => {
  const module = await load(node('optional_has_element_optional_input'))
  const runs = Array.from({ length: 100 }, (_, index) => module.run({ optional_input: index % 2 ? numbers(4) : null }))
  const answers = (await Promise.all(runs)).map(({ output }) => output.toArray())
  assert.deepEqual(
    answers,
    answers.map((_, index) => index % 2)
  )
})

test('optional tensors and sequences are unpacked', limit, async () => {
  const tensor = await load(node('optional_get_element_optional_tensor'))
  assert.deepEqual((await both(tensor, { optional_input: numbers(4) })).output.data, numbers(4))
  const sequence = await load(node('optional_get_element_optional_sequence'))
  assert.equal(sequence.graphInfo.inputs[0].type, 'optional(sequence(tensor(int32)))')
  const { output } = await both(sequence, { optional_input: [[1, 2], Int32Array.of(3)] })
  assert.deepEqual(lists(output), [[1, 2], [3]])
  const loop = await load(node('loop16_seq_none'))
  for (const inputs of [{ trip_count: 2, cond: true, opt_seq: null }, { trip_count: 2, cond: true }, [2, true, null]]) {
    assert.deepEqual(lists((await both(loop, inputs)).seq_res), [0, [1], [1, 2]])
  }
  const { seq_res: result } = await both(loop, { trip_count: 1, cond: true, opt_seq: [[7]] })
  assert.deepEqual(lists(result), [[7], [1]])
})

test('an optional sequence may be empty', limit, async () => {
  const loop = await load(node('loop16_seq_none'))
  const { seq_res: result } = await both(loop, { trip_count: 1, cond: true, opt_seq: [] })
  assert.deepEqual(lists(result), [[1]])
})

// In processes of their own: what has no value has no memory either.
test('an optional output is its value or null', limit, async () => {
  const program = (name, inputs) => `const module = await onnxtune.OnnxModule.load(${JSON.stringify(node(name))})
    const given = []
    for (const inputs of ${JSON.stringify(inputs)}) {
      for (const outputs of [await module.run(inputs), module.runSync(inputs)]) {
        const [value] = Object.values(outputs)
        given.push(value === null ? null : value.map((part) => part.toArray()))
      }
    }
    console.log(JSON.stringify(given))`
  const five = [1, 2, 3, 4, 5]
  const chosen = await runQuietly(program('if_opt', [{ cond: false }, { cond: true }]))
  assert.deepEqual(chosen, [[five], [five], null, null])
  const passed = await runQuietly(program('identity_opt', [{ opt_in: [five] }, { opt_in: [] }, { opt_in: null }, {}]))
  assert.deepEqual(passed, [[five], [five], [], [], null, null, null, null])
})
