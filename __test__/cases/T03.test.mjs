// T03 (pykeio/ort#415, #511): parallel runs on one module get each other's results, or a copy of the weights each.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { OnnxModule } from '../../index.js'
import { generated, numbers, runQuietly } from '../helpers.mjs'

const limit = { timeout: 60_000 }
const path = generated('mlp_external')
const module = await OnnxModule.load(path, { callers: 8 })
after(() => module.dispose())

// 64 inputs of 1 to 9 rows; what each gives alone tells it from the others.
const rows = (index) => 1 + (index % 9)
const inputs = Array.from({ length: 64 }, (_, index) => numbers(1024 * rows(index), index + 1))
const alone = inputs.map((x) => module.runSync({ x }).y)

const distance = (a, b) => a.reduce((most, value, index) => Math.max(most, Math.abs(value - b[index])), 0)
function assertOwn(tensor, index) {
  assert.deepEqual(tensor.dims, [rows(index), 1000])
  assert.ok(distance(tensor.data, alone[index].data) < 1e-6, `run ${index} got its own result`)
}

test('the results of 64 inputs differ, so that a mistaken one shows', () => {
  for (let a = 0; a < 64; a++) {
    for (let b = 0; b < a; b++) assert.ok(distance(alone[a].data.subarray(0, 1000), alone[b].data) > 1e-4, `${a}, ${b}`)
  }
})

test('64 parallel runs with different inputs and batch sizes get their own results', limit, async () => {
  for (let round = 0; round < 3; round++) {
    const outputs = await Promise.all(inputs.map((x) => module.run({ x })))
    outputs.forEach(({ y }, index) => assertOwn(y, index))
  }
})

test('64 parallel runs into arrays of their own, with runSync between, mix nothing up', limit, async () => {
  const targets = inputs.map((_, index) => new Float32Array(1000 * rows(index)))
  const runs = inputs.map((x, index) => {
    const running = module.run({ x }, { into: { y: targets[index] } })
    if (index % 16 === 0) assertOwn(module.runSync({ x: inputs[63 - index] }).y, 63 - index)
    return running
  })
  const outputs = await Promise.all(runs)
  outputs.forEach(({ y }, index) => {
    assert.equal(y.data, targets[index])
    assertOwn(y, index)
  })
})

test('64 parallel runs from one array that is overwritten between the calls see their own values', limit, async () => {
  const shared = new Float32Array(1024 * 9)
  const outputs = await Promise.all(
    inputs.map((x, index) => {
      shared.set(x)
      return module.run({ x: { data: shared.subarray(0, x.length), dims: [rows(index), 1024] } })
    })
  )
  outputs.forEach(({ y }, index) => assertOwn(y, index))
})

test('parallel runs on strings, on several inputs and on two modules at once mix nothing up', limit, async () => {
  const [strings, names, other] = await Promise.all(
    ['identity_string', 'concat', 'mlp_external'].map((name) => OnnxModule.load(generated(name), { callers: 4 }))
  )
  const texts = (index) => Array.from({ length: index % 5 }, (_, row) => `${index}/${row} 模`)
  const pair = (index) => ({
    a: { data: new Float32Array(2 * index).fill(index), dims: [index, 2] },
    b: [[index, -index]]
  })
  await Promise.all(
    Array.from({ length: 64 }, async (_, index) => {
      const [text, both, far] = await Promise.all([
        strings.run({ x: texts(index) }),
        names.run(pair(index)),
        other.run({ x: inputs[index] })
      ])
      assert.deepEqual(text.y.data, texts(index))
      assert.deepEqual(both.y.dims, [index + 1, 2])
      assert.deepEqual([...both.y.data.subarray(-2)], [index, -index])
      assertOwn(far.y, index)
    })
  )
  await Promise.all([strings, names, other].map((one) => one.dispose()))
})

test('there is one copy of the weights in memory, however many run at once', limit, async (context) => {
  // The file has 33 MB. Sixteen copies would take 534 MB; the limits leave room for allocators.
  const program = `const MB = 1e6
    const x = (rows) => ({ data: new Float32Array(1024 * rows).fill(0.5), dims: [rows, 1024] })
    const small = await onnxtune.OnnxModule.load(generated('mlp_tiny'))
    await small.run(new Float32Array(16))
    const before = process.memoryUsage.rss()
    const module = await onnxtune.OnnxModule.load(generated('mlp_external'), { callers: 16 })
    await module.run({ x: x(1) })
    const loaded = process.memoryUsage.rss()
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 64 }, (_, index) => module.run({ x: x(1 + index % 9) })))
    }
    const after = process.memoryUsage.rss()
    console.log(JSON.stringify({ load: (loaded - before) / MB, runs: (after - loaded) / MB }))`
  const { load, runs } = await runQuietly(program)
  context.diagnostic(`RSS grew by ${load.toFixed(0)} MB when loaded and by ${runs.toFixed(0)} MB during the runs`)
  assert.ok(load < 150, `${load} MB`)
  assert.ok(runs < 150, `${runs} MB`)
})
