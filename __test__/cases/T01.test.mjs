// T01 (microsoft/onnxruntime#26968, #19611): the event loop stands still while a model is loaded or run.
//
// A ticker of 5 ms goes on beside the work. How long its gaps are depends on the machine and is only told; a loop that is
// held would let through one tick for each piece of work, which is far below the share that is asked for.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import {
  ONNXRuntimeBackend,
  OneBackendStrategy,
  OnnxModule,
  TunedModule,
  inspect,
  readGraph,
  tune
} from '../../index.js'
import { caught, generated, scratch } from '../helpers.mjs'

const TICK_MS = 5
const SHARE = 0.1
const LEAST_MS = 300
const limit = { timeout: 60_000 }
const large = generated('zeros_200mb')
const folder = scratch()
const x = new Float32Array(5120).fill(1)

// How long this thread has waited for a processor, which no program can help; Linux only.
const schedule = `/proc/self/task/${process.pid}/schedstat`
const waited = () => (existsSync(schedule) ? Number(readFileSync(schedule, 'utf8').split(' ')[1]) / 1e6 : 0)

// Does the work, again and again until there is something to tell; gives the last result.
async function assertTicks(context, what, work) {
  const start = { at: performance.now(), waited: waited() }
  let [ticks, last, largest] = [0, start, { gap: 0, waited: 0 }]
  const look = () => {
    const now = { at: performance.now(), waited: waited() }
    const gap = now.at - last.at
    if (gap > largest.gap) largest = { gap, waited: now.waited - last.waited }
    last = now
  }
  const ticker = setInterval(() => {
    ticks++
    look()
  }, TICK_MS)
  let result
  try {
    do result = await work()
    while (performance.now() - start.at < LEAST_MS)
  } finally {
    clearInterval(ticker)
  }
  look()
  const elapsed = last.at - start.at
  const gap = `${largest.gap.toFixed(1)} ms (${largest.waited.toFixed(1)} ms of it waiting for a processor)`
  const told = `${what}: ${ticks} ticks in ${elapsed.toFixed(0)} ms, largest gap ${gap}`
  context.diagnostic(told)
  assert.ok(ticks >= (SHARE * elapsed) / TICK_MS, told)
  return result
}

test('timers stand still during a run of 300 ms', limit, async (context) => {
  const module = await OnnxModule.load(generated('slow'))
  await module.run({ n: 100 })
  const start = performance.now()
  await module.run({ n: 500 })
  const n = Math.ceil((500 * 300) / (performance.now() - start)) + 500
  await assertTicks(context, 'one run', () => module.run({ n }))
  await assertTicks(context, 'four runs', () => Promise.all([1, 2, 3, 4].map(() => module.run({ n }))))
  await module.dispose()
})

test('timers stand still while a model of 200 MB is loaded, run and disposed', limit, async (context) => {
  const module = await assertTicks(context, 'loading', () => OnnxModule.load(large))
  await assertTicks(context, 'runs', async () => assert.equal((await module.run({ x })).y.data[0], 1))
  await assertTicks(context, 'inspecting', () => inspect(module, [x], { iterations: 20 }))
  await module.dispose()
  await assertTicks(context, 'loading and disposing', async () => (await OnnxModule.load(large)).dispose())
})

test('timers stand still while 200 MB in memory are loaded', limit, async (context) => {
  const bytes = readFileSync(large)
  const module = await assertTicks(context, 'loading bytes', () => OnnxModule.load(bytes))
  await module.dispose()
})

test('timers stand still while a graph is read, and while loading fails or is aborted', limit, async (context) => {
  const cut = join(folder, 'cut.onnx')
  writeFileSync(cut, readFileSync(large).subarray(0, 150_000_000))
  const signal = () => AbortSignal.timeout(50)
  await assertTicks(context, 'reading', () => readGraph(large))
  await assertTicks(context, 'failing', async () => {
    assert.equal((await caught(OnnxModule.load(cut))).code, 'ERR_MODEL_TRUNCATED')
  })
  await assertTicks(context, 'aborting', async () => {
    assert.equal((await caught(OnnxModule.load(large, { signal: signal() }))).code, 'ABORT_ERR')
  })
})

test('timers stand still during tune, and while its checkpoint is saved and loaded', limit, async (context) => {
  const module = await OnnxModule.load(large, { threads: 1 })
  const strategy = new OneBackendStrategy(new ONNXRuntimeBackend({ threads: 1, graphOptimization: 'basic' }))
  const tuned = await assertTicks(context, 'tuning', () => tune(module, [x], { budgetMs: 2000, strategy }))
  const path = join(folder, 'checkpoint')
  await assertTicks(context, 'saving', () => tuned.save(path))
  const loaded = await assertTicks(context, 'loading', () => TunedModule.load(path))
  assert.equal((await loaded.run({ x })).y.data[0], 1)
  await Promise.all([module, tuned, loaded].map((one) => one.dispose()))
})
