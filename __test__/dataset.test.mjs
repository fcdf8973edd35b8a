// Datasets of inspect and tune: what counts as one, what a sample is, and what is wrong with it.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { ONNXRuntimeBackend, OneBackendStrategy, OnnxModule, OnnxTuneError, inspect, tune } from '../index.js'
import { caught, generated, numbers, throwsFault } from './helpers.mjs'

const models = {}
for (const name of ['mlp_tiny', 'cnn_fixed1', 'names', 'control_flow', 'two_unknowns', 'concat']) {
  models[name] = await OnnxModule.load(generated(name))
}
after(() => Promise.all(Object.values(models).map((module) => module.dispose())))

const backend = new ONNXRuntimeBackend({ threads: 1, callers: 1, graphOptimization: 'basic' })
const options = { budgetMs: 100, strategy: new OneBackendStrategy(backend) }

// The workload that a dataset makes.
async function workload(name, dataset, more) {
  const tuned = await tune(models[name], dataset, { ...options, ...more })
  await tuned.dispose()
  return tuned.report.toJSON().workload
}

const item = (seed = 1) => numbers(16, seed)
const DATASETS = {
  'an array': () => [item(1), item(2)],
  'a Set': () => new Set([item(1), item(2)]),
  'a generator': function* () {
    yield item(1)
    yield { x: item(2) }
  },
  'an async generator': async function* () {
    yield item(1)
    await new Promise((resolve) => setImmediate(resolve))
    yield [item(2)]
  },
  'an iterable of promises': () => [Promise.resolve(item(1)), Promise.resolve(item(2))],
  'an iterator without return': () => ({
    [Symbol.iterator]() {
      let left = 2
      return { next: () => ({ done: left-- === 0, value: item(1) }) }
    }
  })
}
for (const [name, make] of Object.entries(DATASETS)) {
  test(`${name} is a dataset`, async () => {
    assert.equal((await workload('mlp_tiny', make())).samples, 2)
    assert.equal((await inspect(models.mlp_tiny, make())).modules[0].calls, 10)
  })
}

test('no more than maxSamples are taken, and the dataset is closed', async () => {
  let given = 0
  let closed = 0
  async function* endless() {
    try {
      for (;;) yield item(++given)
    } finally {
      closed++
    }
  }
  assert.equal((await workload('mlp_tiny', endless(), { maxSamples: 5 })).samples, 5)
  assert.deepEqual({ given, closed }, { given: 5, closed: 1 })
})

test('a dataset is closed where a sample of it is refused, and left alone where it ended itself', async () => {
  const told = []
  const make = (values) => ({
    [Symbol.iterator]() {
      const iterator = values[Symbol.iterator]()
      return { next: () => iterator.next(), return: () => told.push('closed') && { done: true } }
    }
  })
  await caught(tune(models.mlp_tiny, make([item(), 'wrong', item()]), options))
  assert.deepEqual(told, ['closed'])
  await workload('mlp_tiny', make([item()]))
  assert.deepEqual(told, ['closed'])
})

test('samples count as they are when they are given', async () => {
  const reused = new Float32Array(16)
  function* reusing() {
    for (let value = 1; value <= 3; value++) yield reused.fill(value)
  }
  assert.equal((await workload('mlp_tiny', reusing())).samples, 3)
  structuredClone(reused.buffer, { transfer: [reused.buffer] })
})

test('an item has no batch dimension, a whole input has the rank of the graph', async () => {
  const items = [{ data: item(), dims: [16] }, { x: [...item()] }, item(), { x: { data: item(), shape: [1, 16] } }]
  assert.deepEqual((await workload('mlp_tiny', items)).batchSizes, [1, 2])
  const whole = [{ data: numbers(48), dims: [3, 16] }, numbers(32)]
  const { batchSizes, measuredBatchSize } = await workload('mlp_tiny', whole)
  assert.deepEqual({ batchSizes, measuredBatchSize }, { batchSizes: [3], measuredBatchSize: 3 })
})

test('an item whose one unknown dimension can be solved needs no dims', async () => {
  for (const sample of [numbers(5), [1, 2, 3, 4, 5], { x: numbers(5) }, { data: numbers(5), dims: [5] }]) {
    const {
      modules: [module]
    } = await inspect(models.two_unknowns, [sample], { iterations: 1 })
    assert.deepEqual(module.inputTypes, [['float32[1,5]']])
    assert.deepEqual((await workload('two_unknowns', [sample])).batchSizes, [1, 2])
  }
})

test('batch sizes are those asked for, once each', async () => {
  const { batchSizes, measuredBatchSize } = await workload('mlp_tiny', [item()], { batchSizes: [8, 1, 3, 8] })
  assert.deepEqual({ batchSizes, measuredBatchSize }, { batchSizes: [1, 3, 8], measuredBatchSize: 8 })
})

test('a fixed batch is run as it is, and a larger one refused as ERR_BATCH_FIXED', async () => {
  const image = numbers(3 * 96 * 96)
  for (const sample of [image, { data: image, dims: [3, 96, 96] }, { data: image, dims: [1, 3, 96, 96] }]) {
    assert.deepEqual((await workload('cnn_fixed1', [sample])).batchSizes, [1])
  }
  const tuning = tune(models.cnn_fixed1, [image], { batchSizes: [2] })
  const error = await throwsFault(tuning, OnnxTuneError, 'ERR_BATCH_FIXED')
  assert.match(error.message, /batch size 2/)
  assert.deepEqual((await workload('cnn_fixed1', [image], { batchSizes: [1] })).batchSizes, [1])
})

test('samples of different shapes are batched with their like', async () => {
  const sample = (columns) => ({ data: numbers(columns), dims: [columns] })
  const { samples, batchSizes } = await workload('two_unknowns', [sample(3), sample(5), sample(3), sample(4)])
  assert.deepEqual({ samples, batchSizes }, { samples: 4, batchSizes: [1, 2] })
})

test('an empty dataset is refused', async () => {
  for (const empty of [[], new Set(), (function* () {})(), (async function* () {})()]) {
    for (const work of [inspect, tune]) {
      await throwsFault(work(models.mlp_tiny, empty), OnnxTuneError, 'ERR_DATASET_EMPTY')
    }
  }
})

test('what is no dataset is refused', async () => {
  for (const dataset of [undefined, null, 5, 'text', {}, item(), () => [item()]]) {
    for (const work of [inspect, tune]) {
      await throwsFault(work(models.mlp_tiny, dataset), TypeError, 'ERR_DATASET', { expected: 'iterable of samples' })
    }
  }
})

test('a dataset that throws is named, with its own error as the cause', async () => {
  const thrown = new Error('the disk is gone')
  const throwing = {
    'after a sample': function* () {
      yield item()
      throw thrown
    },
    'at once': async function* () {
      throw thrown
    },
    'when asked for an iterator': () => ({
      [Symbol.iterator]() {
        throw thrown
      }
    }),
    'as a rejected sample': () => [item(), Promise.reject(thrown)]
  }
  for (const [when, make] of Object.entries(throwing)) {
    for (const work of [inspect, tune]) {
      const details = { cause: thrown, message: /the disk is gone/ }
      const call = work(models.mlp_tiny, make()).catch((error) => Promise.reject(Object.assign(error, { when })))
      await throwsFault(call, OnnxTuneError, 'ERR_DATASET', { ...details, when })
    }
  }
})

test('a sample that does not fit is numbered and keeps the fault of its input', async () => {
  const wrong = [
    [{ y: item() }, { input: 'x', expected: ['x'], received: ['y'], message: /sample 2: .*"x" is missing/ }],
    [
      { x: item(), z: item() },
      { input: 'z', message: /sample 2: .*no input "z"/ }
    ],
    [numbers(15), { input: 'x', received: 15 }],
    [
      { data: numbers(16), dims: [4, 4] },
      { input: 'x', received: [4, 4] }
    ],
    [
      { data: numbers(16), dims: [1, 1, 16] },
      { input: 'x', received: [1, 1, 16] }
    ],
    [Float64Array.from(item()), { input: 'x', expected: 'float32', received: 'float64' }],
    [undefined, { input: 'x', received: 'undefined' }],
    [null, { input: 'x', received: 'null' }],
    [[[1, 2], [3]], { input: 'x', message: /sample 2: .*not all of one shape/ }]
  ]
  for (const [sample, details] of wrong) {
    for (const work of [inspect, tune]) {
      const call = work(models.mlp_tiny, [item(), item(), sample])
      const error = await throwsFault(call, OnnxTuneError, 'ERR_DATASET_SAMPLE', { message: /sample 2/, ...details })
      assert.ok(error.cause instanceof TypeError || error.cause instanceof RangeError)
    }
  }
})

test('samples whose inputs hold different numbers of items are refused', async () => {
  const sample = [
    { data: numbers(8), dims: [2, 4] },
    { data: Int32Array.of(1, 2, 3), dims: [3, 1] }
  ]
  for (const work of [inspect, tune]) {
    const error = await throwsFault(work(models.names, [sample]), OnnxTuneError, 'ERR_DATASET_SHAPE')
    assert.match(error.message, /sample 0.*"ids:0" holds 3 items.*holds 2/)
  }
})

test('a sample without any item is refused in words that say so', async () => {
  const empty = { data: new Float32Array(0), dims: [0, 16] }
  const error = await throwsFault(tune(models.mlp_tiny, [empty]), OnnxTuneError, 'ERR_DATASET_SHAPE')
  assert.match(error.message, /sample 0.*"x"/)
  assert.doesNotMatch(error.message, /another input/, 'the graph has no other')
})

test('items that differ in an input without a batch axis need batchSizes: [1], and the error says so', async () => {
  const dataset = [1, 2].map((n) => ({ x: numbers(8), n, flag: true }))
  const error = await throwsFault(tune(models.control_flow, dataset), OnnxTuneError, 'ERR_DATASET_BATCH')
  assert.match(error.message, /batchSizes: \[1\]/)
  assert.match(error.message, /"n"/, 'the input is named')
  assert.deepEqual((await workload('control_flow', dataset, { batchSizes: [1] })).samples, 2)
})

test('whole batches and batchSizes do not go together, and the error says so', async () => {
  const whole = [{ data: numbers(48), dims: [3, 16] }]
  const error = await throwsFault(tune(models.mlp_tiny, whole, { batchSizes: [2] }), OnnxTuneError, 'ERR_DATASET_BATCH')
  assert.match(error.message, /batches of 3.*batchSizes/)
})

test('a model that fails on the dataset rejects as ERR_TUNE_BASELINE, since no candidate is to blame', async () => {
  const tokens = { input_ids: [[1_000_000_000]], attention_mask: [[1]] }
  const error = await throwsFault(tune(generated('bert6'), [tokens], options), OnnxTuneError, 'ERR_TUNE_BASELINE')
  assert.match(error.message, /untuned model fails on the dataset/)
})
