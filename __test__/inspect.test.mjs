// inspect: what it tells of a model on a dataset.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { InspectReport, OnnxModule, OnnxTuneError, inspect, readGraph } from '../index.js'
import { caught, fetched, generated, lacks, numbers, throwsFault } from './helpers.mjs'

const path = generated('mlp_tiny')

test('a report has calls, times in order, types and the graph', async () => {
  const report = await inspect(path, [numbers(16), numbers(48)], { iterations: 7, warmup: 2 })
  assert.ok(report instanceof InspectReport)
  const { warmup, elapsedMs, modules } = report.toJSON()
  assert.equal(warmup, 2)
  assert.equal(modules.length, 1)
  assert.deepEqual(report.modules, modules)
  assert.deepEqual(report.getModules(), modules)
  const [{ name, calls, totalMs, meanMs, p50Ms, p90Ms, p99Ms, share, inputTypes, outputTypes, onnxGraph }] = modules
  assert.deepEqual({ name, calls, share }, { name: 'mlp_tiny.onnx', calls: 7, share: 1 })
  assert.ok(0 < p50Ms && p50Ms <= p90Ms && p90Ms <= p99Ms && p99Ms <= totalMs && totalMs <= elapsedMs)
  assert.ok(Math.abs(meanMs * calls - totalMs) < 1e-9 * calls)
  assert.deepEqual(inputTypes, [['float32[1,16]'], ['float32[3,16]']])
  assert.deepEqual(outputTypes, [['float32[1,4]'], ['float32[3,4]']])
  assert.deepEqual(onnxGraph, await readGraph(path))
  assert.deepEqual(JSON.parse(JSON.stringify(report)), report.toJSON())
})

test('describe is a table with a line for each module', async () => {
  const report = await inspect(path, [numbers(16)], { iterations: 3 })
  const lines = report.describe().split('\n')
  assert.equal(lines.length, 3)
  assert.match(lines[0], /^module +calls +mean ms +p50 ms +p90 ms +p99 ms +share/)
  assert.match(lines[1], /^[- ]+$/)
  assert.ok(lines[2].startsWith('mlp_tiny.onnx'))
  assert.match(lines[2], / 3 .* 100 % .*float32\[1,16\]/)
})

test('without options there are five calls to warm up and ten that count', async () => {
  const report = await inspect(path, [numbers(16)])
  assert.equal(report.toJSON().warmup, 5)
  assert.equal(report.modules[0].calls, 10)
  assert.equal((await inspect(path, [numbers(16)], { iterations: 1, warmup: 0 })).modules[0].calls, 1)
})

test('several inputs, scalars and outputs of other kinds are described', async () => {
  const sample = { x: numbers(8), n: 2, flag: true }
  const {
    modules: [flow]
  } = await inspect(generated('control_flow'), [sample], { iterations: 2 })
  assert.deepEqual(flow.inputTypes, [['float32[1,8]', 'int64[]', 'bool[]']])
  assert.deepEqual(flow.outputTypes, [['float32[1,8]', 'float32[2]']])
  const {
    modules: [zipmap]
  } = await inspect(generated('zipmap'), [numbers(4)], { iterations: 2 })
  assert.deepEqual(zipmap.outputTypes, [['string[1]', 'sequence of 1']])
})

test('items get their batch dimension, whole inputs are taken as they are', async () => {
  const image = numbers(3 * 96 * 96)
  const samples = [{ data: image, dims: [3, 96, 96] }, { data: { data: image, dims: [1, 3, 96, 96] } }, [image]]
  const {
    modules: [module]
  } = await inspect(generated('cnn_fixed1'), samples, { iterations: 3, warmup: 0 })
  assert.deepEqual(module.inputTypes, [['float32[1,3,96,96]']])
})

test('an endless dataset is read as far as it is needed, and closed', async () => {
  let given = 0
  let closed = false
  function* endless() {
    try {
      for (;;) yield numbers(16, ++given)
    } finally {
      closed = true
    }
  }
  const {
    modules: [module]
  } = await inspect(path, endless(), { iterations: 4, warmup: 3 })
  assert.deepEqual({ calls: module.calls, given, closed }, { calls: 4, given: 7, closed: true })
})

test('an async dataset is waited for', async () => {
  async function* slowly() {
    for (let seed = 1; seed < 4; seed++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      yield numbers(16 * seed, seed)
    }
  }
  const {
    modules: [module]
  } = await inspect(path, slowly(), { iterations: 3, warmup: 0 })
  assert.deepEqual(module.inputTypes, [['float32[1,16]'], ['float32[2,16]'], ['float32[3,16]']])
})

test('a module is inspected as it is and stays usable; a path is loaded for it', async () => {
  const module = await OnnxModule.load(path, { threads: 1 })
  const before = module.runSync(numbers(16)).y.data
  const {
    modules: [inspected]
  } = await inspect(module, [numbers(16)], { iterations: 2 })
  assert.equal(inspected.name, 'mlp_tiny.onnx')
  assert.deepEqual((await module.run(numbers(16))).y.data, before)
  await module.dispose()
})

test('progress counts the calls', async () => {
  const events = []
  // Calls long enough for the event loop to hear of some of them before the end.
  const dataset = [{ n: 2000 }]
  await inspect(generated('slow'), dataset, { iterations: 3, warmup: 2, onProgress: (event) => events.push(event) })
  assert.ok(events.length > 0 && events.length <= 5)
  for (const { phase, index, total, fraction, message } of events) {
    assert.equal(phase, index <= 2 ? 'warmup' : 'measure')
    assert.equal(total, 5)
    assert.equal(fraction, index / 5)
    assert.match(message, new RegExp(`${index} of 5`))
  }
})

test('what the progress callback throws is what inspect rejects with', async () => {
  const thrown = new Error('from the callback')
  const onProgress = () => {
    throw thrown
  }
  assert.equal(await caught(inspect(path, [numbers(16)], { iterations: 1000, onProgress })), thrown)
})

test('a model that fails on a sample rejects with its fault', async () => {
  const sample = { input_ids: [[1_000_000_000]], attention_mask: [[1]] }
  const error = await throwsFault(inspect(generated('bert6'), [sample]), OnnxTuneError, 'ERR_RUN_FAILED')
  assert.match(error.message, /out of data bounds|out of range|out-of-bounds/i)
})

test('a model that cannot be loaded rejects with the fault of load', async () => {
  assert.equal((await caught(inspect(generated('unknown_op'), [numbers(4)]))).code, 'ERR_OPERATOR_UNSUPPORTED')
  await throwsFault(inspect(5, [numbers(4)]), TypeError, 'ERR_SOURCE')
})

test('a real model is inspected', { skip: lacks('minilm') }, async () => {
  const ids = (length) => BigInt64Array.from({ length }, (_, index) => BigInt(index + 100))
  const sample = (length) => ({ input_ids: ids(length), attention_mask: new Array(length).fill(1) })
  const nested = { input_ids: [[101, 102]], attention_mask: [[1, 1]] }
  const {
    modules: [module]
  } = await inspect(fetched('minilm'), [sample(8), nested], { iterations: 2, warmup: 0 })
  assert.deepEqual(module.inputTypes[0], ['int64[1,8]', 'int64[1,8]'])
  assert.deepEqual(module.inputTypes[1], ['int64[1,2]', 'int64[1,2]'])
})
