// Many runs at once, the end of a module, and several threads.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'

import { OnnxModule, OnnxTuneError, inspect, tune } from '../index.js'
import { engine, generated, nextTurn, numbers, plain, root, scratch, sleep, throwsFault } from './helpers.mjs'

setFlagsFromString('--expose-gc')
const collectGarbage = engine === 'Bun' ? () => globalThis.Bun.gc(true) : runInNewContext('gc')
const limit = { timeout: 20_000 }

test('each of 64 parallel runs gets its own result', limit, async () => {
  const module = await OnnxModule.load(generated('mlp_tiny'), { callers: 4 })
  const inputs = Array.from({ length: 64 }, (_, index) => numbers(16 * (1 + (index % 7)), index + 1))
  const alone = inputs.map((x) => plain(module.runSync({ x })))
  const together = await Promise.all(inputs.map((x) => module.run({ x })))
  assert.deepEqual(together.map(plain), alone)
  assert.equal(new Set(together.map(({ y }) => y.data.join())).size, 64, 'the inputs tell them apart')
  await module.dispose()
})

test('runs beyond the length of the queue are refused, those in it are kept', limit, async () => {
  const module = await OnnxModule.load(generated('slow'), { callers: 1 })
  const controller = new AbortController()
  const first = module.run({ n: 10_000_000 }, { signal: controller.signal }).catch(({ code }) => code)
  const others = Array.from({ length: 5000 }, () =>
    module.run({ n: 1 }).then(
      () => 'done',
      ({ code }) => code
    )
  )
  controller.abort()
  assert.equal(await first, 'ABORT_ERR')
  const results = await Promise.all(others)
  assert.ok(results.filter((result) => result === 'done').length >= 4096)
  assert.ok(results.includes('ERR_QUEUE_FULL'))
  assert.deepEqual(
    results.filter((result) => result !== 'done' && result !== 'ERR_QUEUE_FULL'),
    []
  )
  await module.dispose()
})

test('runSync answers while runs are in flight', limit, async () => {
  const module = await OnnxModule.load(generated('slow'), { callers: 1 })
  const running = [module.run({ n: 500 }), module.run({ n: 500 })]
  assert.ok(Math.abs(module.runSync({ n: 3 }).y.data[0] - 1) < 1e-5)
  for (const { y } of await Promise.all(running)) assert.ok(Math.abs(y.data[0] - 1) < 1e-3)
  await module.dispose()
})

test('outputs are readable after dispose and garbage collection', limit, async () => {
  let module = await OnnxModule.load(generated('mlp_tiny'))
  const outputs = [await module.run(numbers(16)), module.runSync(numbers(16))]
  const before = outputs.map((output) => plain(output).map(({ data }) => [...data]))
  await module.dispose()
  module = undefined
  for (let round = 0; round < 3; round++) {
    collectGarbage()
    await nextTurn()
  }
  assert.deepEqual(
    outputs.map((output) => plain(output).map(({ data }) => [...data])),
    before
  )
})

test('dispose waits for runs in flight, each call of it', limit, async () => {
  const module = await OnnxModule.load(generated('slow'), { callers: 1 })
  let ended = 0
  const runs = [1, 2, 3].map(() => module.run({ n: 1000 }).then(() => ended++))
  const disposals = [module.dispose(), module.dispose()].map(async (disposal) => {
    await disposal
    // A run and the disposal may settle in the same turn, in either order.
    await nextTurn()
    return ended
  })
  assert.deepEqual(await Promise.all(disposals), [3, 3])
  await Promise.all(runs)
})

test('dispose twice is fine', limit, async () => {
  const module = await OnnxModule.load(generated('identity'))
  assert.equal(await module.dispose(), undefined)
  assert.equal(await module.dispose(), undefined)
})

test('a disposed module refuses work and still tells its facts', limit, async () => {
  const module = await OnnxModule.load(generated('identity'))
  const tuned = await tune(module, [new Float32Array(4)], { budgetMs: 300 })
  await Promise.all([module.dispose(), tuned.dispose()])
  const x = new Float32Array(4)
  const work = {
    run: () => module.run({ x }),
    runSync: () => module.runSync({ x }),
    inspect: () => inspect(module, [x]),
    tune: () => tune(module, [x]),
    'run when tuned': () => tuned.run({ x }),
    save: () => tuned.save(join(scratch(), 'refused'))
  }
  for (const [name, start] of Object.entries(work)) {
    const error = await throwsFault(start, OnnxTuneError, 'ERR_DISPOSED')
    assert.match(error.message, /disposed/, name)
  }
  assert.deepEqual(module.graphInfo.inputNames, ['x'])
  assert.equal(module.backend.name, 'onnxruntime')
  assert.equal(tuned.candidate.name, tuned.report.candidates[tuned.report.winner].name)
})

test('await using disposes', limit, async () => {
  const module = await OnnxModule.load(generated('identity'))
  await module[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]()
  assert.equal((await module.run(new Float32Array(4)).catch((error) => error)).code, 'ERR_DISPOSED')
})

test('a module dropped without dispose is collected', limit, async () => {
  const use = async () => {
    const module = await OnnxModule.load(generated('identity'))
    await module.run(new Float32Array(4))
    return new WeakRef(module)
  }
  const dropped = await use()
  for (let round = 0; round < 500 && dropped.deref() !== undefined; round++) {
    await sleep(10)
    collectGarbage()
  }
  assert.equal(dropped.deref(), undefined)
})

const WORKER = `
const { parentPort, workerData } = require('node:worker_threads')
const { OnnxModule } = require(workerData.root)
async function main() {
  const module = await OnnxModule.load(workerData.path)
  const results = []
  for (let round = 0; round < 20; round++) {
    const runs = await Promise.all([1, 2, 3].map((rows) => module.run({ x: workerData.x.slice(0, rows * 16) })))
    results.push(runs.map(({ y }) => [...y.data].join()).join(';'))
  }
  if (workerData.dispose) await module.dispose()
  parentPort.postMessage(results)
}
main()
`

test('worker threads load and run beside the main thread', limit, async () => {
  const x = numbers(48)
  const path = generated('mlp_tiny')
  const module = await OnnxModule.load(path)
  const expected = [1, 2, 3].map((rows) => [...module.runSync({ x: x.slice(0, rows * 16) }).y.data].join()).join(';')
  const work = async (index) => {
    const worker = new Worker(WORKER, { eval: true, workerData: { root, path, x, dispose: index % 2 === 0 } })
    const ended = once(worker, 'exit')
    const [results] = await once(worker, 'message')
    assert.deepEqual(await ended, [0])
    return results
  }
  const working = Array.from({ length: 4 }, (_, index) => work(index))
  for (let round = 0; round < 50; round++) await module.run({ x })
  for (const results of await Promise.all(working)) assert.deepEqual(results, new Array(20).fill(expected))
  await module.dispose()
})

test('a worker that is terminated in the middle of a run leaves the others alone', limit, async () => {
  const code = `const { parentPort, workerData } = require('node:worker_threads')
    const { OnnxModule } = require(workerData.root)
    OnnxModule.load(workerData.path).then((module) => {
      module.run({ n: 3000 })
      parentPort.postMessage('running')
    })`
  const worker = new Worker(code, { eval: true, workerData: { root, path: generated('slow') } })
  await once(worker, 'message')
  await worker.terminate()
  const module = await OnnxModule.load(generated('identity'))
  const { y } = await module.run(Float32Array.of(1, 2, 3, 4))
  assert.deepEqual(y.data, Float32Array.of(1, 2, 3, 4))
  await module.dispose()
})

test('a model given as bytes keeps nothing of them', limit, async () => {
  const bytes = new Uint8Array(readFileSync(generated('mlp_tiny')))
  const loading = OnnxModule.load(bytes)
  bytes.fill(0)
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  const module = await loading
  const original = await OnnxModule.load(generated('mlp_tiny'))
  assert.equal(module.graphInfo.modelPath, null)
  assert.deepEqual(plain(await module.run(numbers(16))), plain(await original.run(numbers(16))))
  await Promise.all([module.dispose(), original.dispose()])
})
