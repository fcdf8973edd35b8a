// The queue of a module (`queueLimit`, `callers`, order), and the way past it (`inline`).
import assert from 'node:assert/strict'
import { setMaxListeners } from 'node:events'
import { test } from 'node:test'

import { OnnxModule, OnnxTuneError } from '../index.js'
import { caught, generated, numbers, sleep, throwsFault } from './helpers.mjs'

const forever = { n: 10_000_000 }
const limit = { timeout: 60_000 }

// A controller whose signal many calls may listen to.
function forMany() {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

test('a full queue refuses calls and goes on with those that it took', limit, async () => {
  for (const [callers, queueLimit] of [
    [1, 1],
    [1, 3],
    [2, 5]
  ]) {
    const module = await OnnxModule.load(generated('slow'), { callers, queueLimit })
    const controller = forMany()
    const errors = []
    const start = () => module.run(forever, { signal: controller.signal }).catch((error) => errors.push(error))
    const runs = Array.from({ length: 20 }, start)
    // Which of them are refused depends on when the callers take theirs, which makes room; how many does not.
    while (errors.length < 20 - callers - queueLimit) await sleep(1)
    for (const error of errors) {
      assert.ok(error instanceof OnnxTuneError)
      assert.equal(error.code, 'ERR_QUEUE_FULL')
      assert.match(error.message, new RegExp(`^${queueLimit} `))
    }
    controller.abort()
    await Promise.all(runs)
    const aborted = errors.filter(({ code }) => code === 'ABORT_ERR').length
    assert.ok(aborted >= queueLimit && aborted <= callers + queueLimit, `${aborted} were accepted`)
    assert.equal(errors.filter(({ code }) => code === 'ERR_QUEUE_FULL').length, 20 - aborted)
    // There is room again, and a synchronous run needs none.
    assert.deepEqual((await module.run({ n: 1 })).y.dims, [])
    await module.dispose()
  }
})

test('runSync goes past a full queue', limit, async () => {
  const module = await OnnxModule.load(generated('slow'), { callers: 1, queueLimit: 1 })
  const controller = new AbortController()
  const runs = Array.from({ length: 3 }, () => caught(module.run(forever, { signal: controller.signal })))
  assert.ok(Math.abs(module.runSync({ n: 2 }).y.data[0] - 1) < 1e-3)
  controller.abort()
  await Promise.all(runs)
  await module.dispose()
})

test('without a limit of its own a queue holds 4096 calls', limit, async () => {
  const module = await OnnxModule.load(generated('slow'), { callers: 1 })
  const controller = forMany()
  const codes = {}
  const runs = Array.from({ length: 4100 }, async () => {
    const { code } = await caught(module.run(forever, { signal: controller.signal }))
    codes[code] = (codes[code] ?? 0) + 1
  })
  while (!codes.ERR_QUEUE_FULL) await sleep(1)
  controller.abort()
  await Promise.all(runs)
  assert.equal(codes.ABORT_ERR + codes.ERR_QUEUE_FULL, 4100)
  assert.ok(codes.ABORT_ERR === 4096 || codes.ABORT_ERR === 4097, `${codes.ABORT_ERR} were accepted`)
  await module.dispose()
})

test('one caller ends calls in their order', limit, async () => {
  const module = await OnnxModule.load(generated('slow'), { callers: 1 })
  const ended = []
  // Longer ones first, which several callers would end last.
  const runs = Array.from({ length: 30 }, (_, index) => module.run({ n: 60 - 2 * index }).then(() => ended.push(index)))
  await Promise.all(runs)
  assert.deepEqual(ended, [...ended.keys()])
  await module.dispose()
})

test('as many calls run at once as there are callers', limit, async () => {
  const module = await OnnxModule.load(generated('slow'), { callers: 3, threads: 1 })
  const controllers = Array.from({ length: 2 }, () => new AbortController())
  const stuck = controllers.map(({ signal }) => caught(module.run(forever, { signal })))
  // Two callers are held for half an hour; the third serves the rest.
  for (let run = 0; run < 5; run++) await module.run({ n: 2 })
  for (const controller of controllers) controller.abort()
  for (const error of await Promise.all(stuck)) assert.equal(error.code, 'ABORT_ERR')
  await module.dispose()
})

for (const inline of ['auto', 'never']) {
  test(`with inline ${inline} runs give the same values, faults and promises`, limit, async () => {
    const module = await OnnxModule.load(generated('dunder'), { inline })
    const pair = [Float32Array.of(5, 6), Float32Array.of(1, 2)]
    for (let run = 0; run < 200; run++) {
      const running = module.run(pair)
      assert.ok(running instanceof Promise)
      const outputs = await running
      assert.deepEqual(outputs.toString.data, Float32Array.of(6, 8))
      assert.deepEqual(outputs.hasOwnProperty.data, Float32Array.of(4, 4))
    }
    const target = new Float32Array(2)
    const { toString: sum, ...rest } = await module.run(pair, { outputs: ['toString'], into: { toString: target } })
    assert.equal(sum.data, target)
    assert.deepEqual(rest, {})
    // Faults are rejections, not exceptions, wherever they are found.
    const faults = [
      [() => module.run([pair[0]]), 'ERR_INPUT_COUNT'],
      [() => module.run(pair, { into: { toString: new Float32Array(3) } }), 'ERR_INTO'],
      [() => module.run([new Float32Array(2), new Float32Array(3)]), 'ERR_RUN_FAILED'],
      [() => module.run(pair, { signal: AbortSignal.abort() }), 'ABORT_ERR']
    ]
    for (const [call, code] of faults) {
      const running = call()
      assert.ok(running instanceof Promise, code)
      assert.equal((await caught(running)).code, code)
    }
    const many = await Promise.all(
      Array.from({ length: 500 }, (_, index) => module.run([new Float32Array(2).fill(index), pair[1]]))
    )
    assert.ok(many.every(({ hasOwnProperty }, index) => hasOwnProperty.data[0] === index - 1))
    await module.dispose()
    await throwsFault(module.run(pair), OnnxTuneError, 'ERR_DISPOSED')
  })
}

test('with inline auto a model that is known to be short has run when the call returns', limit, async () => {
  const module = await OnnxModule.load(generated('add_tiny'), { inline: 'auto', threads: 1 })
  const runsInside = async (options) => {
    const target = new Float32Array(4)
    const running = module.run(new Float32Array(4).fill(1000), { into: { y: target }, ...options })
    const inside = target[0] !== 0
    await running
    assert.ok(target.every((value) => value !== 0))
    return inside
  }
  assert.equal(await runsInside(), false, 'nothing is known of the first')
  // A busy machine may make some of them look long.
  let inside = 0
  for (let run = 0; run < 1000; run++) if (await runsInside()) inside++
  assert.ok(inside > 0)
  await module.dispose()
})

test('with inline auto a long model runs elsewhere, also after short runs', limit, async () => {
  const module = await OnnxModule.load(generated('identity'), { inline: 'auto' })
  const large = { data: numbers(1 << 22), dims: [1 << 20, 4] }
  for (let round = 0; round < 3; round++) {
    // The first long run after short ones is not known to be one.
    await module.run(large)
    const target = new Float32Array(1 << 22)
    const running = module.run(large, { into: { y: target } })
    assert.equal(target[1], 0)
    await running
    assert.equal(target[1], large.data[1])
    for (let run = 0; run < 50; run++) await module.run(numbers(4))
  }
  await module.dispose()
})
