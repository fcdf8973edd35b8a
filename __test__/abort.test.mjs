// Signals: what they end, and what they leave behind.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { after, test } from 'node:test'

import { AbortError, OnnxModule, inspect, readGraph, tune } from '../index.js'
import { caught, generated, numbers, runQuietly, sleep, throwsFault } from './helpers.mjs'

// Half an hour of work, so that only an abort can end it. A test that waits for it runs into its time limit.
const forever = { n: 10_000_000 }
const limit = { timeout: 20_000 }
const module = await OnnxModule.load(generated('slow'), { callers: 1 })
after(() => module.dispose())
const listeners = (signal) => getEventListeners(signal, 'abort').length

test('aborting a run rejects with an AbortError that carries the reason, and frees the thread', limit, async () => {
  for (const reason of [undefined, new Error('changed my mind'), 'a text']) {
    const controller = new AbortController()
    const running = caught(module.run(forever, { signal: controller.signal }))
    await sleep(50)
    assert.equal(listeners(controller.signal), 1)
    controller.abort(reason)
    const error = await running
    assert.ok(error instanceof AbortError && error instanceof Error)
    assert.deepEqual({ name: error.name, code: error.code }, { name: 'AbortError', code: 'ABORT_ERR' })
    assert.equal(error.cause, controller.signal.reason)
    assert.equal(listeners(controller.signal), 0)
    // The only caller is free again.
    assert.ok(Math.abs((await module.run({ n: 2 })).y.data[0] - 1) < 1e-5)
  }
})

test('a signal of AbortSignal.timeout ends a run', limit, async () => {
  const error = await caught(module.run(forever, { signal: AbortSignal.timeout(50) }))
  assert.deepEqual({ name: error.name, code: error.code }, { name: 'AbortError', code: 'ABORT_ERR' })
  assert.equal(error.cause.name, 'TimeoutError')
})

test('an already aborted signal lets nothing start', limit, async () => {
  const signal = AbortSignal.abort(new Error('before'))
  const never = {
    [Symbol.iterator]() {
      throw assert.fail('the dataset was touched')
    }
  }
  const calls = {
    readGraph: () => readGraph(generated('identity'), { signal }),
    load: () => OnnxModule.load(generated('identity'), { signal }),
    run: () => module.run(forever, { signal }),
    inspect: () => inspect(module, never, { signal }),
    tune: () => tune(module, never, { signal }),
    'tune of a path': () => tune(generated('slow'), never, { signal })
  }
  for (const [name, call] of Object.entries(calls)) {
    const error = await caught(call)
    assert.equal(error.code, 'ABORT_ERR', `${name}: ${error.message}`)
    assert.equal(error.cause, signal.reason, name)
    assert.equal(listeners(signal), 0, name)
  }
})

test('one of four parallel runs is aborted, the others end right', limit, async () => {
  const parallel = await OnnxModule.load(generated('slow'), { callers: 2 })
  const controller = new AbortController()
  const others = [200, 300].map((n) => parallel.run({ n }, { signal: new AbortController().signal }))
  const aborted = caught(parallel.run(forever, { signal: controller.signal }))
  others.push(parallel.run({ n: 100 }))
  await sleep(20)
  controller.abort()
  assert.equal((await aborted).code, 'ABORT_ERR')
  for (const { y } of await Promise.all(others)) assert.ok(Math.abs(y.data[0] - 1) < 1e-3)
  await parallel.dispose()
})

test('a run that waits for its turn is aborted without having begun', limit, async () => {
  const [first, second] = [new AbortController(), new AbortController()]
  const running = caught(module.run(forever, { signal: first.signal }))
  const waiting = caught(module.run(forever, { signal: second.signal }))
  await sleep(20)
  second.abort()
  assert.equal((await waiting).code, 'ABORT_ERR')
  first.abort()
  assert.equal((await running).code, 'ABORT_ERR')
})

test('one signal ends many runs', limit, async () => {
  const controller = new AbortController()
  const runs = Array.from({ length: 8 }, () => caught(module.run(forever, { signal: controller.signal })))
  await sleep(20)
  controller.abort()
  assert.deepEqual(
    (await Promise.all(runs)).map(({ code }) => code),
    new Array(8).fill('ABORT_ERR')
  )
  assert.equal(listeners(controller.signal), 0)
})

test('aborting after the end changes nothing, and no listener stays on the signal', limit, async () => {
  const controller = new AbortController()
  const { signal } = controller
  const outputs = await module.run({ n: 2 }, { signal })
  assert.equal(listeners(signal), 0)
  await readGraph(generated('identity'), { signal })
  const identity = await OnnxModule.load(generated('identity'), { signal })
  await inspect(identity, [new Float32Array(4)], { signal })
  const tuned = await tune(identity, [new Float32Array(4)], { signal, budgetMs: 200 })
  await caught(OnnxModule.load(generated('empty'), { signal }))
  assert.equal(listeners(signal), 0)
  controller.abort()
  assert.ok(Math.abs(outputs.y.data[0] - 1) < 1e-5)
  assert.deepEqual((await tuned.run(new Float32Array(4))).y.dims, [1, 4])
  await Promise.all([identity.dispose(), tuned.dispose()])
})

test('abort ends dispose that waits for the run', limit, async () => {
  const closing = await OnnxModule.load(generated('slow'))
  const controller = new AbortController()
  const running = caught(closing.run(forever, { signal: controller.signal }))
  const disposed = closing.dispose()
  await sleep(20)
  controller.abort()
  assert.equal((await running).code, 'ABORT_ERR')
  await disposed
})

test('loading is aborted', limit, async () => {
  const controller = new AbortController()
  const loading = caught(OnnxModule.load(generated('resnet18'), { signal: controller.signal }))
  controller.abort()
  assert.equal((await loading).code, 'ABORT_ERR')
  assert.equal(listeners(controller.signal), 0)
})

test('inspect and tune are aborted while the model runs', limit, async () => {
  for (const [work, options] of [
    [inspect, {}],
    [tune, { budgetMs: 600_000 }]
  ]) {
    const controller = new AbortController()
    const working = caught(work(module, [forever], { ...options, signal: controller.signal }))
    await sleep(100)
    controller.abort()
    assert.equal((await working).code, 'ABORT_ERR', work.name)
    assert.equal(listeners(controller.signal), 0, work.name)
  }
})

test('tune is aborted at any of its steps', limit, async () => {
  for (const phase of ['record', 'build', 'measure']) {
    const controller = new AbortController()
    const onProgress = (event) => event.phase === phase && controller.abort()
    const options = { budgetMs: 600_000, signal: controller.signal, onProgress }
    const error = await caught(tune(generated('mlp_tiny'), [numbers(16)], options))
    assert.equal(error.code, 'ABORT_ERR', phase)
  }
})

test('tune and inspect are aborted while the dataset makes them wait', limit, async () => {
  for (const work of [inspect, tune]) {
    let closed = false
    const stuck = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          closed = true
          return { done: true, value: undefined }
        }
      })
    }
    const controller = new AbortController()
    const working = caught(work(module, stuck, { signal: controller.signal }))
    await sleep(20)
    controller.abort()
    const waited = sleep(5000).then(() => ({ code: 'still waiting for the dataset' }))
    assert.equal((await Promise.race([working, waited])).code, 'ABORT_ERR', work.name)
    assert.ok(closed, 'the dataset was told')
  }
})

test('a signal that is none is refused', limit, async () => {
  for (const signal of [{}, 'abort', 5, null, () => {}]) {
    await throwsFault(module.run({ n: 1 }, { signal }), TypeError, 'ERR_OPTION', { expected: 'AbortSignal' })
  }
})

test('an aborted run leaves the processor alone', limit, async () => {
  const program = `const module = await onnxtune.OnnxModule.load(generated('slow'))
    const signal = AbortSignal.timeout(100)
    const error = await module.run({ n: 10_000_000 }, { signal }).catch((error) => error)
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const { user, system } = process.cpuUsage(before)
    console.log(JSON.stringify({ code: error.code, idle: user + system < 500_000 }))`
  assert.deepEqual(await runQuietly(program), { code: 'ABORT_ERR', idle: true })
})
