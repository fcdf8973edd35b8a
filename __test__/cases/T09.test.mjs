// T09 (microsoft/onnxruntime#8007, pykeio/ort#30): a classifier's sequence of maps crashes, or comes without its keys.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule, readGraph, tune } from '../../index.js'
import { generated, numbers, throwsFault } from '../helpers.mjs'

const KINDS = {
  zipmap: ['string', ['setosa', 'versicolor', 'virginica'], 'sequence(map(string,float32))'],
  zipmap_int64: ['int64', [10n, 20n, 30n], 'sequence(map(int64,float32))']
}
const modules = {}
for (const name of Object.keys(KINDS)) modules[name] = await OnnxModule.load(generated(name))
after(() => Promise.all(Object.values(modules).map((module) => module.dispose())))

// One map per row, all classes in each, and the likeliest of them is the label.
function assertClassified({ output_label: label, output_probability: maps }, rows, [dtype, classes]) {
  assert.deepEqual({ type: label.type, dims: label.dims }, { type: dtype, dims: [rows] })
  assert.ok(Array.isArray(maps))
  assert.equal(maps.length, rows)
  maps.forEach((map, row) => {
    assert.ok(map instanceof Map)
    assert.deepEqual([...map.keys()], classes)
    assert.ok(Math.abs([...map.values()].reduce((sum, value) => sum + value) - 1) < 1e-5)
    const likeliest = [...map].reduce((best, entry) => (entry[1] > best[1] ? entry : best))
    assert.equal(label.data[row], likeliest[0])
  })
}

for (const [name, kind] of Object.entries(KINDS)) {
  const [dtype, , type] = kind

  test(`graph info does not tell the type ${type}`, async () => {
    const expected = [
      { name: 'output_label', type: `tensor(${dtype})`, dtype, shape: ['N'] },
      { name: 'output_probability', type, dtype: null, shape: null }
    ]
    assert.deepEqual((await readGraph(generated(name))).outputs, expected)
    assert.deepEqual(modules[name].graphInfo.outputs, expected)
  })

  test(`a ${type} lacks maps or keys`, async () => {
    for (const rows of [1, 2, 3, 150]) {
      const x = numbers(4 * rows, rows)
      assertClassified(await modules[name].run(x), rows, kind)
      assertClassified(modules[name].runSync({ float_input: x }), rows, kind)
    }
  })

  test(`parallel runs mix up the maps of a ${type}`, async () => {
    const inputs = Array.from({ length: 32 }, (_, index) => numbers(4 * (1 + (index % 5)), index + 1))
    const alone = inputs.map((x) => modules[name].runSync(x))
    assert.deepEqual(await Promise.all(inputs.map((x) => modules[name].run(x))), alone)
  })

  test(`a ${type} cannot be left out, or is said to be written to an array`, async () => {
    const x = numbers(8)
    const { output_probability: maps } = modules[name].runSync(x)
    assert.deepEqual(Object.keys(await modules[name].run(x, { outputs: ['output_label'] })), ['output_label'])
    assert.deepEqual(await modules[name].run(x, { outputs: ['output_probability'] }), { output_probability: maps })
    for (const array of [new Float32Array(6), [], new Map()]) {
      const into = { output_probability: array }
      await throwsFault(modules[name].run(x, { into }), TypeError, 'ERR_INTO', { output: 'output_probability' })
      await throwsFault(() => modules[name].runSync(x, { into }), TypeError, 'ERR_INTO')
    }
  })

  test(`no rows make a ${type} fail without a code`, async () => {
    const empty = { data: new Float32Array(0), dims: [0, 4] }
    for (const run of [() => modules[name].run(empty), async () => modules[name].runSync(empty)]) {
      const outputs = await run().catch((error) => error)
      if (outputs instanceof Error) assert.equal(outputs.code, 'ERR_RUN_FAILED', outputs.message)
      else assertClassified(outputs, 0, kind)
    }
  })
}

test('a classifier with maps cannot be tuned', async () => {
  const tuned = await tune(modules.zipmap_int64, [numbers(4), numbers(4, 2)], { budgetMs: 300 })
  assertClassified(await tuned.run(numbers(12)), 3, KINDS.zipmap_int64)
  await tuned.dispose()
})

test('a sequence of tensors loses shapes, or an empty one fails', async () => {
  const module = await OnnxModule.load(generated('sequence'))
  for (const rows of [0, 1, 7]) {
    const { chunks, count } = await module.run({ x: { data: numbers(4 * rows), dims: [rows, 4] } })
    assert.equal(count.data[0], BigInt(rows))
    assert.deepEqual(
      chunks.map(({ type, dims }) => [type, ...dims]),
      new Array(rows).fill(['float32', 1, 4])
    )
    assert.deepEqual(
      chunks.flatMap(({ data }) => [...data]),
      [...numbers(4 * rows)]
    )
  }
  await module.dispose()
})
