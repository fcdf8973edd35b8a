// T14 (microsoft/onnxruntime#16002, #23921): names with dots, colons, slashes or a meaning in JavaScript are lost, and a
// wrong name is answered with a word about something else.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule, inspect, readGraph, tune } from '../../index.js'
import { caught, generated, throwsFault } from '../helpers.mjs'

const module = await OnnxModule.load(generated('odd_names'))
const reversed = await OnnxModule.load(generated('dunder_outputs'))
after(() => Promise.all([module.dispose(), reversed.dispose()]))

const names = ['past_key_values.0.key', 'images:0', '/model/in', 'a b', '模', '__proto__', 'constructor']
const outputNames = ['present.0.key', 'scores:0', '/model/out', 'c d', '型', 'toString', 'valueOf']
const value = (index) => Float32Array.of(10 * index, -index)
// Not a literal, where __proto__ would set the prototype.
const all = () => Object.fromEntries(names.map((name, index) => [name, value(index)]))
const without = (...left) => Object.fromEntries(Object.entries(all()).filter(([name]) => !left.includes(name)))

function assertRight(outputs, wanted = outputNames) {
  assert.deepEqual(Object.keys(outputs), wanted)
  assert.equal(Object.getPrototypeOf(outputs), Object.prototype)
  for (const name of wanted) {
    const expected = value(outputNames.indexOf(name)).map((number) => number + 1)
    assert.deepEqual(Object.getOwnPropertyDescriptor(outputs, name).value.data, expected, name)
  }
}

test('graph info lacks or changes names', async () => {
  const graph = await readGraph(generated('odd_names'))
  for (const info of [graph, module.graphInfo])
    assert.deepEqual([info.inputNames, info.outputNames], [names, outputNames])
})

test('inputs by odd names are lost', async () => {
  const bare = Object.assign(
    Object.create(null),
    Object.fromEntries(names.slice(0, 5).map((name, i) => [name, value(i)]))
  )
  for (const [index, name] of ['__proto__', 'constructor'].entries()) {
    Object.defineProperty(bare, name, { value: value(5 + index), enumerable: true })
  }
  const json = JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(all()).map(([k, v]) => [k, [...v]]))))
  const backwards = Object.fromEntries(Object.entries(all()).reverse())
  for (const inputs of [all(), bare, json, backwards, names.map((_, index) => value(index)), Object.freeze(all())]) {
    assertRight(await module.run(inputs))
    assertRight(module.runSync(inputs))
  }
})

test('outputs by odd names are lost, or cannot be asked for', async () => {
  for (const run of [(...given) => module.run(...given), async (...given) => module.runSync(...given)]) {
    for (const name of outputNames) assertRight(await run(all(), { outputs: [name] }), [name])
    const into = Object.fromEntries(outputNames.map((name) => [name, new Float32Array(2)]))
    const outputs = await run(all(), { into })
    assertRight(outputs)
    for (const name of outputNames) assert.equal(Object.getOwnPropertyDescriptor(outputs, name).value.data, into[name])
  }
})

test('outputs named __proto__ and constructor change the prototype, or are lost', async () => {
  const x = Float32Array.of(1, 2)
  for (const run of [(...given) => reversed.run(...given), async (...given) => reversed.runSync(...given)]) {
    const into = Object.fromEntries(['__proto__', 'constructor'].map((name) => [name, new Float32Array(2)]))
    for (const options of [{}, { outputs: ['constructor', '__proto__'] }, { into }]) {
      const outputs = await run({ x }, options)
      assert.deepEqual(Object.keys(outputs), ['__proto__', 'constructor'])
      assert.equal(Object.getPrototypeOf(outputs), Object.prototype)
      for (const { data } of Object.values(outputs)) assert.deepEqual(data, x)
    }
    assert.deepEqual(Object.values(into), [x, x])
    assert.deepEqual(Object.keys(await run({ x }, { outputs: ['__proto__'] })), ['__proto__'])
  }
})

test('warmup, inspect and tune cannot take odd names', async () => {
  await module.warmup(Object.fromEntries(names.map((name) => [name, [3]])))
  assert.equal((await inspect(module, [all()], { iterations: 2 })).modules[0].calls, 2)
  const tuned = await tune(module, [all()], { budgetMs: 200 })
  assertRight(await tuned.run(all()))
  await tuned.dispose()
})

for (const missing of names) {
  test(`a missing input ${JSON.stringify(missing)} goes by, or is not named`, async () => {
    const received = names.filter((name) => name !== missing)
    const inputs = [without(missing), { ...without(missing), ...Object.fromEntries([[missing, undefined]]) }]
    for (const given of inputs) {
      const details = { input: missing, expected: names, received }
      const error = await throwsFault(module.run(given), TypeError, 'ERR_INPUT_MISSING', details)
      for (const name of names) assert.ok(error.message.includes(JSON.stringify(name)), error.message)
    }
  })
}

const SLIPS = {
  'past_key_values.0.keys': names[0],
  images: names[1],
  '/Model/In': names[2],
  a_b: names[3],
  proto__: names[5]
}
for (const [slip, meant] of Object.entries(SLIPS)) {
  test(`an input ${JSON.stringify(slip)} is not answered with ${JSON.stringify(meant)}`, async () => {
    const hint = `did you mean ${JSON.stringify(meant)}?`
    const instead = { input: meant, hint, received: [...names.filter((name) => name !== meant), slip] }
    await throwsFault(module.run({ ...without(meant), [slip]: [1] }), TypeError, 'ERR_INPUT_MISSING', instead)
    const beside = { input: slip, expected: names, received: [...names, slip], hint }
    const extra = Object.assign(all(), { [slip]: [1] })
    await throwsFault(module.run(extra), TypeError, 'ERR_INPUT_UNKNOWN', beside)
    assertRight(await module.run(extra, { ignoreExtraInputs: true }))
  })
}

test('a misspelt output is not answered with the nearest name', async () => {
  for (const [slip, meant] of [
    ['present.0.keys', 'present.0.key'],
    ['scores', 'scores:0'],
    ['tostring', 'toString']
  ]) {
    const details = { output: slip, expected: outputNames, received: slip, hint: `did you mean "${meant}"?` }
    await throwsFault(module.run(all(), { outputs: [slip] }), TypeError, 'ERR_OUTPUT_UNKNOWN', details)
    const into = { [slip]: new Float32Array(2) }
    await throwsFault(() => module.runSync(all(), { into }), TypeError, 'ERR_OUTPUT_UNKNOWN', details)
  }
  for (const inherited of ['__proto__', 'constructor', 'hasOwnProperty']) {
    const details = { output: inherited, expected: outputNames }
    await throwsFault(module.run(all(), { outputs: [inherited] }), TypeError, 'ERR_OUTPUT_UNKNOWN', details)
  }
})

test('null, undefined and plain numbers as a value or as all inputs are taken for something', async () => {
  const replaced = (given) => ({ ...without('images:0'), 'images:0': given })
  await throwsFault(module.run(replaced(null)), TypeError, 'ERR_INPUT_TYPE', { input: 'images:0', received: 'null' })
  await throwsFault(module.run(replaced(undefined)), TypeError, 'ERR_INPUT_MISSING', { input: 'images:0' })
  assertRight(await module.run(replaced([10, -1])))
  for (const inputs of [null, undefined, 5, 'images:0', [1, 2], [[10, -1]], new Float32Array(2)]) {
    const error = await caught(module.run(inputs))
    assert.ok(error instanceof TypeError)
    assert.deepEqual([error.code, error.expected], ['ERR_INPUT_COUNT', names], error.message)
  }
})
