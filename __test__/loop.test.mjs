// The event loop goes on while models load, run, are tuned and saved.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { OnnxModule, TunedModule, inspect, readGraph, tune } from '../index.js'
import { fetched, generated, lacks, scratch } from './helpers.mjs'

const folder = scratch()
// The largest that is always there, where the real one is not.
const real = !lacks('minilm')
const path = real ? fetched('minilm') : generated('bert6')
const module = await OnnxModule.load(path)
after(() => module.dispose())

const ids = (length) => BigInt64Array.from({ length }, (_, index) => BigInt(1000 + index))
const ones = (length) => new BigInt64Array(length).fill(1n)
const sample = (length) => ({ input_ids: ids(length), attention_mask: ones(length) })
const batch = (rows, length) => ({
  input_ids: { data: ids(rows * length), dims: [rows, length] },
  attention_mask: { data: ones(rows * length), dims: [rows, length] }
})

// Does the work beside a ticker of 5 ms. A loop that is held for the whole of it lets no tick through; how long the
// gaps are depends on the machine and is only told.
async function assertTicks(context, least, work) {
  let ticks = 0
  let largest = 0
  let last = performance.now()
  const start = last
  const tick = () => {
    const now = performance.now()
    largest = Math.max(largest, now - last)
    last = now
    ticks++
  }
  const ticker = setInterval(tick, 5)
  try {
    await work()
  } finally {
    clearInterval(ticker)
  }
  const elapsed = performance.now() - start
  largest = Math.max(largest, performance.now() - last)
  context.diagnostic(`${ticks} ticks in ${elapsed.toFixed(0)} ms, largest gap ${largest.toFixed(1)} ms`)
  assert.ok(ticks >= least, `${ticks} ticks in ${elapsed.toFixed(0)} ms`)
}

test('while models are loaded', async (context) => {
  await assertTicks(context, 10, async () => {
    for (let round = 0; round < 3; round++) await (await OnnxModule.load(path)).dispose()
  })
})

test('while graphs are read', async (context) => {
  await assertTicks(context, 3, async () => {
    for (let round = 0; round < 60; round++) await readGraph(path)
  })
})

test('while models run', async (context) => {
  const inputs = batch(16, 128)
  await assertTicks(context, 10, async () => {
    for (let round = 0; round < 3; round++) await module.run(inputs)
    await Promise.all([1, 2, 3, 4].map(() => module.run(inputs)))
  })
})

test('while a model is inspected', async (context) => {
  await assertTicks(context, 10, () => inspect(module, [batch(8, 64)], { iterations: 10 }))
})

test('while a model is tuned, saved and loaded again', async (context) => {
  let tuned
  await assertTicks(context, 50, async () => {
    tuned = await tune(module, [sample(16), sample(32)], { budgetMs: 3000 })
  })
  const file = join(folder, 'model')
  await assertTicks(context, 10, async () => {
    await tuned.save(file)
    await tuned.save(file)
  })
  await assertTicks(context, 5, async () => {
    await (await TunedModule.load(file)).dispose()
    await (await TunedModule.load(file)).dispose()
  })
  await tuned.dispose()
})

test('while a dataset in memory is read', async (context) => {
  const item = new Float32Array(16)
  function* many() {
    for (let index = 0; index < 50_000; index++) yield item
  }
  await assertTicks(context, 5, () => inspect(generated('mlp_tiny'), many(), { iterations: 1, warmup: 49_999 }))
})
