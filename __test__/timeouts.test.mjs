// `timeoutMs`: what it ends, what it leaves alone, and what it leaves behind. No test here decides by how long something
// took: what must not end by itself would take half an hour, and what must end is far from its deadline.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { after, test } from 'node:test'

import { AbortError, OnnxModule, OnnxTuneError } from '../index.js'
import { caught, generated, runQuietly, sleep, throwsFault } from './helpers.mjs'

const forever = { n: 10_000_000 }
const limit = { timeout: 60_000 }
const far = 600_000
const module = await OnnxModule.load(generated('slow'), { callers: 1 })
after(() => module.dispose())
const listeners = (signal) => getEventListeners(signal, 'abort').length
const isOne = ({ y }) => assert.ok(Math.abs(y.data[0] - 1) < 1e-3)
const timedOut = (work, timeoutMs) =>
  throwsFault(work, OnnxTuneError, 'ERR_TIMEOUT', { expected: timeoutMs, message: new RegExp(`${timeoutMs} ms`) })

test('a running call ends at its deadline, and its thread is free for others', limit, async () => {
  for (const timeoutMs of [50, 1, 0.25]) {
    await timedOut(module.run(forever, { timeoutMs }), timeoutMs)
    // The only caller is free again.
    isOne(await module.run({ n: 2 }))
  }
})

test('a waiting call ends at its deadline while the one before it runs on', limit, async () => {
  const controller = new AbortController()
  let ended = false
  const first = caught(module.run(forever, { signal: controller.signal })).finally(() => (ended = true))
  await timedOut(module.run(forever, { timeoutMs: 30 }), 30)
  assert.equal(ended, false)
  // What waits without a deadline of its own keeps its place.
  const third = module.run({ n: 2 })
  await timedOut(module.run({ n: 2 }, { timeoutMs: 30 }), 30)
  assert.equal(ended, false)
  controller.abort()
  assert.equal((await first).code, 'ABORT_ERR')
  isOne(await third)
})

test('each of many calls has its own deadline', limit, async () => {
  const given = [20, far, 40, far, 30]
  const runs = given.map((timeoutMs, index) =>
    module.run(timeoutMs === far ? { n: 2 } : forever, { timeoutMs }).then(isOne, ({ code }) => `${index} ${code}`)
  )
  assert.deepEqual(await Promise.all(runs), ['0 ERR_TIMEOUT', undefined, '2 ERR_TIMEOUT', undefined, '4 ERR_TIMEOUT'])
})

test('a call that ends in time is not touched', limit, async () => {
  isOne(await module.run({ n: 2 }, { timeoutMs: far }))
  isOne(await module.run({ n: 2 }, { timeoutMs: 2 ** 31 - 1 }))
  // Faults are those of the call.
  await throwsFault(module.run({ m: 2 }, { timeoutMs: far }), TypeError, 'ERR_INPUT_MISSING', { input: 'n' })
  const closed = await OnnxModule.load(generated('slow'))
  await closed.dispose()
  await throwsFault(closed.run({ n: 2 }, { timeoutMs: far }), OnnxTuneError, 'ERR_DISPOSED')
})

test('of signal and deadline, what comes first decides', limit, async () => {
  const { signal } = new AbortController()
  await timedOut(module.run(forever, { signal, timeoutMs: 30 }), 30)
  assert.equal(listeners(signal), 0)

  const controller = new AbortController()
  const running = caught(module.run(forever, { signal: controller.signal, timeoutMs: far }))
  await sleep(20)
  assert.equal(listeners(controller.signal), 1)
  controller.abort(new Error('enough'))
  const error = await running
  assert.ok(error instanceof AbortError)
  assert.equal(error.cause.message, 'enough')
  assert.equal(listeners(controller.signal), 0)

  const before = AbortSignal.abort(new Error('before'))
  const never = await caught(module.run(forever, { signal: before, timeoutMs: 0.001 }))
  assert.equal(`${never.code} ${never.cause.message}`, 'ABORT_ERR before')
  assert.equal(listeners(before), 0)
})

test('no listener is left on the signal, however the call ends', limit, async () => {
  const { signal } = new AbortController()
  const calls = [
    () => module.run({ n: 2 }, { signal, timeoutMs: far }),
    () => module.run({ m: 2 }, { signal, timeoutMs: far }),
    () => module.run({ n: 2 }, { signal, timeoutMs: far, outputs: ['z'] }),
    () => module.run({ n: 2 }, { signal, timeoutMs: far, into: { y: new Float32Array(2) } }),
    () => module.run(forever, { signal, timeoutMs: 10 })
  ]
  const codes = []
  for (const call of calls) {
    codes.push(
      await call().then(
        ({ y }) => y.type,
        (error) => error.code
      )
    )
    assert.equal(listeners(signal), 0)
  }
  assert.deepEqual(codes, ['float32', 'ERR_INPUT_MISSING', 'ERR_OUTPUT_UNKNOWN', 'ERR_INTO', 'ERR_TIMEOUT'])
})

test('timers are cleared: none keeps the process alive after its call', limit, async () => {
  // The program would live for ten minutes and be killed.
  const program = `const module = await onnxtune.OnnxModule.load(generated('slow'))
    const { signal } = new AbortController()
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const ends = (work) => work.then(() => 'ended', (error) => error.code)
    const codes = [
      await ends(module.run({ n: 2 }, { timeoutMs: 600_000 })),
      await ends(module.run({ n: 2 }, { timeoutMs: 600_000, signal })),
      await ends(module.run({ m: 2 }, { timeoutMs: 600_000 })),
      await ends(module.run({ n: 2 }, { timeoutMs: 600_000, outputs: ['z'] })),
      await ends(module.run({ n: 10_000_000 }, { timeoutMs: 10 })),
      await ends(module.run({ n: 10_000_000 }, { timeoutMs: 600_000, signal: AbortSignal.timeout(10) }))
    ]
    console.log(JSON.stringify({ codes, timers: timers() }))`
  assert.deepEqual(await runQuietly(program), {
    codes: ['ended', 'ended', 'ERR_INPUT_MISSING', 'ERR_OUTPUT_UNKNOWN', 'ERR_TIMEOUT', 'ABORT_ERR'],
    timers: 0
  })
})

test('dispose waits for a call no longer than its deadline lets it', limit, async () => {
  const closing = await OnnxModule.load(generated('slow'), { callers: 1 })
  const runs = [40, 60].map((timeoutMs) => timedOut(closing.run(forever, { timeoutMs }), timeoutMs))
  await closing.dispose()
  await Promise.all(runs)
})

test('a deadline holds with every other option', limit, async () => {
  for (const options of [{ inline: 'auto' }, { inline: 'never', callers: 2 }]) {
    const other = await OnnxModule.load(generated('slow'), options)
    // Known to be short, which a call with a deadline must not rely on.
    for (let run = 0; run < 5; run++) isOne(await other.run({ n: 0 }))
    const target = new Float32Array(1)
    await timedOut(other.run(forever, { timeoutMs: 30, outputs: ['y'], into: { y: target } }), 30)
    assert.deepEqual([...target], [0])
    isOne(await other.run({ n: 2 }, { timeoutMs: far, into: { y: target } }))
    assert.ok(Math.abs(target[0] - 1) < 1e-3)
    await other.dispose()
  }
})

test('what is no number of milliseconds is refused', limit, async () => {
  // Timers wait for 2^31 - 1 ms at the most, and would end at once for more.
  for (const timeoutMs of [0, -1, NaN, Infinity, 2 ** 31, '50', null, 50n, true]) {
    const error = await caught(module.run({ n: 2 }, { timeoutMs }))
    assert.equal(error.code, 'ERR_OPTION', String(timeoutMs))
    assert.equal(error.constructor, typeof timeoutMs === 'number' ? RangeError : TypeError)
  }
  for (const options of [{ timeoutMs: 50 }, { signal: AbortSignal.timeout(50) }]) {
    const [received] = Object.keys(options)
    await throwsFault(() => module.runSync({ n: 2 }, options), TypeError, 'ERR_OPTION', { received })
  }
})
