// T19 (microsoft/onnxruntime#23703, #29041): abort is not heard, ends the wrong run, or leaves a listener and a busy thread.
//
// The case allows 300 ms from abort to rejection; how long it takes is told. Runs here would take half an hour, so that only
// an abort can end them within the limits.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { AbortError, OnnxModule, OnnxTuneError, TunedModule, inspect, readGraph, tune } from '../../index.js'
import { caught, generated, numbers, scratch, sleep, throwsFault } from '../helpers.mjs'

const limit = { timeout: 60_000 }
const forever = { n: 10_000_000 }
const module = await OnnxModule.load(generated('slow'), { callers: 4 })
after(() => module.dispose())
const isOne = ({ y }) => assert.ok(Math.abs(y.data[0] - 1) < 1e-3)

// Starts the work, aborts it after some time, and checks how it ended.
async function assertAborted(context, what, work, delay = 100) {
  const controller = new AbortController()
  const { signal } = controller
  const working = caught(() => work(signal))
  await sleep(delay)
  const start = performance.now()
  const reason = new Error('enough')
  controller.abort(reason)
  const error = await working
  context.diagnostic(`${what}: ended ${(performance.now() - start).toFixed(1)} ms after the abort`)
  assert.ok(error instanceof AbortError, `${what}: ${error}`)
  assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'ABORT_ERR', reason], what)
  assert.equal(getEventListeners(signal, 'abort').length, 0, `${what}: no listener is left`)
}

async function busyMs(work) {
  const before = process.cpuUsage()
  await work
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('abort of a long run at 100 ms is not heard, or the processor stays busy', limit, async (context) => {
  await assertAborted(context, 'a run', (signal) => module.run(forever, { signal }))
  const used = await busyMs(sleep(2000))
  context.diagnostic(`${used.toFixed(0)} ms of processor time in the 2 s afterwards`)
  assert.ok(used < 1000, `${used} ms`)
  isOne(await module.run({ n: 3 }))
})

test('an already aborted signal lets a run begin', limit, async () => {
  const signal = AbortSignal.abort('before')
  for (const options of [{ signal }, { signal, timeoutMs: 1000 }, { signal, outputs: ['y'] }]) {
    const error = await caught(module.run(forever, options))
    assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'ABORT_ERR', 'before'])
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('abort of one of four parallel runs ends another, or none', limit, async (context) => {
  for (const place of [0, 1, 2, 3]) {
    const others = []
    await assertAborted(
      context,
      `run ${place}`,
      (signal) => {
        const runs = [0, 1, 2, 3].map((index) =>
          index === place
            ? module.run(forever, { signal })
            : module.run({ n: 200 }, { signal: new AbortController().signal })
        )
        others.push(...runs.filter((_, index) => index !== place))
        return runs[place]
      },
      20
    )
    for (const outputs of await Promise.all(others)) isOne(outputs)
  }
})

test(
  'abort of one of four runs that share a caller ends another, waits for its turn, or none',
  limit,
  async (context) => {
    const narrow = await OnnxModule.load(generated('slow'), { callers: 1 })
    const first = new AbortController()
    const running = caught(narrow.run(forever, { signal: first.signal }))
    const others = [narrow.run({ n: 2 })]
    await assertAborted(context, 'a waiting run', (signal) => narrow.run({ n: 2 }, { signal }), 20)
    others.push(narrow.run({ n: 2 }))
    first.abort()
    assert.equal((await running).code, 'ABORT_ERR')
    for (const outputs of await Promise.all(others)) isOne(outputs)
    await narrow.dispose()
  }
)

test('abort after the end changes an answer, or leaves listeners', limit, async () => {
  const controller = new AbortController()
  const { signal } = controller
  const runs = await Promise.all(Array.from({ length: 50 }, () => module.run({ n: 1 }, { signal })))
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  controller.abort()
  runs.forEach(isOne)
  isOne(await module.run({ n: 1 }))
})

test('one signal for runs, load and tune ends only some of them, or warns of too many listeners', limit, async () => {
  const warnings = []
  const listen = (warning) => warnings.push(warning.name)
  process.on('warning', listen)
  const controller = new AbortController()
  const { signal } = controller
  const work = Array.from({ length: 30 }, () => caught(module.run(forever, { signal })))
  work.push(caught(tune(generated('mlp_tiny'), [numbers(16)], { budgetMs: 600_000, signal })))
  work.push(caught(OnnxModule.load(generated('zeros_200mb'), { signal })))
  await sleep(100)
  controller.abort()
  for (const { code } of await Promise.all(work)) assert.equal(code, 'ABORT_ERR')
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  await sleep(10)
  process.off('warning', listen)
  assert.deepEqual(warnings, [])
})

test('abort of tune, inspect, load, save or a dataset is not heard', limit, async (context) => {
  const tiny = generated('mlp_tiny')
  const large = generated('zeros_200mb')
  const options = (signal) => ({ signal, budgetMs: 600_000 })
  await assertAborted(context, 'tune', (signal) => tune(tiny, [numbers(16)], options(signal)), 500)
  await assertAborted(context, 'tune in its first run', (signal) => tune(module, [forever], options(signal)))
  await assertAborted(
    context,
    'tune of a path that loads',
    (signal) => tune(large, [new Float32Array(5120)], options(signal)),
    50
  )
  await assertAborted(context, 'inspect', (signal) => inspect(module, [forever], { signal }))
  await assertAborted(context, 'load', (signal) => OnnxModule.load(large, { signal }), 50)
  const waiting = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }
  await assertAborted(context, 'a dataset that waits', (signal) => tune(module, waiting, { signal }))
  await throwsAborted(readGraph(tiny, { signal: AbortSignal.abort() }))
  const tuned = await tune(tiny, [numbers(16)], { budgetMs: 100 })
  const path = join(scratch(), 'checkpoint')
  await throwsAborted(tuned.save(path, { signal: AbortSignal.abort() }))
  await tuned.save(path)
  await throwsAborted(TunedModule.load(path, { signal: AbortSignal.abort() }))
  await tuned.dispose()
})

async function throwsAborted(work) {
  assert.equal((await caught(work)).code, 'ABORT_ERR')
}

test('a deadline is not kept, is taken for an abort, or the other way round', limit, async (context) => {
  const start = performance.now()
  await throwsFault(module.run(forever, { timeoutMs: 100 }), OnnxTuneError, 'ERR_TIMEOUT', { expected: 100 })
  context.diagnostic(`a deadline of 100 ms: ended after ${(performance.now() - start).toFixed(1)} ms`)
  const controller = new AbortController()
  const { signal } = controller
  const late = module.run(forever, { signal, timeoutMs: 50 })
  await throwsFault(late, OnnxTuneError, 'ERR_TIMEOUT', { expected: 50 })
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  await assertAborted(context, 'a run with a deadline', (given) =>
    module.run(forever, { signal: given, timeoutMs: 600_000 })
  )
  isOne(await module.run({ n: 2 }, { signal, timeoutMs: 60_000 }))
})

test('the signals of AbortSignal.any and AbortSignal.timeout are not heard', limit, async () => {
  const signal = AbortSignal.any([new AbortController().signal, AbortSignal.timeout(50)])
  const error = await caught(module.run(forever, { signal }))
  assert.deepEqual([error.code, error.cause.name], ['ABORT_ERR', 'TimeoutError'])
})
