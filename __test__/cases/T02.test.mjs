// T02 (microsoft/onnxruntime#24486, #20084): worker threads crash, or answer wrongly, when several load and run at once.
import { test } from 'node:test'
import assert from 'node:assert/strict'

import { runQuietly } from '../helpers.mjs'

const limit = { timeout: 120_000 }

// What each thread does in a round: loads the model, runs it 50 times in parallel and compares with what it was told.
const ROUND = `async (onnxtune, { path, inputs, expected, dispose }) => {
  const module = await onnxtune.OnnxModule.load(path)
  const outputs = await Promise.all(inputs.map((x) => module.run({ x })))
  const wrong = outputs.filter(({ y }, index) => y.data.join() !== expected[index].join()).length
  if (dispose) await module.dispose()
  return wrong
}`

const program = (rounds, workers, task) => `
  import { Worker } from 'node:worker_threads'
  import { once } from 'node:events'
  const round = ${ROUND}
  const code = \`const { parentPort, workerData } = require('node:worker_threads')
    import(workerData.entry).then(async (onnxtune) => {
      ${task}
    })\`.replace('ROUND', String(round))
  const inputs = Array.from({ length: 50 }, (_, run) =>
    Float32Array.from({ length: 16 * (1 + run % 3) }, (_, index) => Math.sin(run * 97 + index)))
  const path = generated('mlp_tiny')
  const module = await onnxtune.OnnxModule.load(path)
  const expected = inputs.map((x) => module.runSync({ x }).y.data)
  const results = { wrong: 0, answers: 0, exits: new Set() }
  const work = async (index, number) => {
    const workerData = { entry: ENTRY, path, inputs, expected, dispose: (index + number) % 2 === 0 }
    const worker = new Worker(code, { eval: true, workerData, execArgv: [] })
    worker.on('message', (wrong) => {
      results.wrong += wrong
      results.answers++
    })
    results.exits.add((await once(worker, 'exit'))[0])
  }
  for (let number = 0; number < ${rounds}; number++) {
    const working = Array.from({ length: ${workers} }, (_, index) => work(index, number))
    results.wrong += await round(onnxtune, { path, inputs, expected, dispose: number % 2 === 0 })
    await Promise.all(working)
  }
  console.log(JSON.stringify({ ...results, exits: [...results.exits] }))`

test(
  '8 workers and the main thread load and run 50 times in parallel, 20 rounds: no crash, no wrong number',
  limit,
  async () => {
    const task = 'parentPort.postMessage(await (ROUND)(onnxtune, workerData))'
    const results = await runQuietly(program(20, 8, task), { killAfterMs: 100_000 })
    assert.deepEqual(results, { wrong: 0, answers: 160, exits: [0] })
  }
)

test('8 workers that exit with 50 runs in flight leave the others alone', limit, async () => {
  const task = `parentPort.postMessage(0)
    ;(ROUND)(onnxtune, { ...workerData, dispose: false }).catch(() => {})
    setTimeout(() => process.exit(7), workerData.inputs[0][0] === 0 ? 5 : 0)`
  const results = await runQuietly(program(3, 8, task), { killAfterMs: 100_000 })
  assert.deepEqual(results, { wrong: 0, answers: 24, exits: [7] })
})

test('a module, a tune and a checkpoint in each of 4 workers at once', limit, async () => {
  const task = `const x = workerData.inputs[0]
    const tuned = await onnxtune.tune(workerData.path, [x], { budgetMs: 200 })
    const { mkdtempSync, rmSync } = require('node:fs')
    const folder = mkdtempSync(require('node:os').tmpdir() + '/onnxtune-case-')
    await tuned.save(folder + '/checkpoint')
    const loaded = await onnxtune.TunedModule.load(folder + '/checkpoint')
    rmSync(folder, { recursive: true })
    const near = (await loaded.run(x)).y.data.every((value, index) => Math.abs(value - workerData.expected[0][index]) < 1e-5)
    parentPort.postMessage(near ? 0 : 1)`
  const results = await runQuietly(program(2, 4, task), { killAfterMs: 100_000 })
  assert.deepEqual(results, { wrong: 0, answers: 8, exits: [0] })
})
