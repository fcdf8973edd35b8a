// tune: what its report promises, and how strategies, options and verdicts go together.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import {
  MaxThroughputStrategy,
  ONNXRuntimeBackend,
  OneBackendStrategy,
  OnnxModule,
  TuneReport,
  TunedModule,
  tune
} from '../index.js'
import { caught, fetched, generated, lacks, numbers, plain, runQuietly, throwsFault } from './helpers.mjs'

const mlp = await OnnxModule.load(generated('mlp_tiny'))
after(() => mlp.dispose())
const samples = [numbers(16, 1), numbers(16, 2), numbers(16, 3)]
const quick = { budgetMs: 400 }
const slowest = { threads: 1, callers: 1, graphOptimization: 'disabled' }

// What holds of every report.
function assertReport(tuned) {
  assert.ok(tuned instanceof TunedModule && tuned instanceof OnnxModule)
  assert.ok(tuned.report instanceof TuneReport)
  const report = tuned.report.toJSON()
  assert.equal(report.schemaVersion, 1)
  assert.deepEqual(report, JSON.parse(JSON.stringify(tuned.report)))
  const { candidates, winner, verdict, workload } = report
  assert.equal(tuned.candidate, candidates[winner])
  assert.equal(tuned.report.winner, winner)
  assert.equal(tuned.report.verdict, verdict)
  assert.ok(verdict.length > 10)
  const count = (list) => new Set(list.map((one) => JSON.stringify(one))).size
  assert.equal(count(candidates.map(({ settings }) => settings)), candidates.length, 'no candidate twice')
  assert.equal(count(candidates.map(({ name }) => name)), candidates.length, 'names tell them apart')
  for (const [index, { name, status, reason, timing, accuracy, buildMs, settings }] of candidates.entries()) {
    assert.match(status, /^(OK|FAILED|SKIPPED|SLOWER|INACCURATE)$/, name)
    assert.ok(reason.length > 5, `${name} (${status}) has a reason`)
    assert.ok(settings.callers >= 1 && settings.backend.threads >= 1)
    // The baseline alone has nothing to race against.
    if (timing === null && index === 0) {
      assert.ok(candidates.every((other) => other.timing === null))
    } else if (status === 'OK' || status === 'SLOWER') {
      assert.ok(buildMs > 0 && timing.calls > 0 && timing.rounds >= 3, name)
      assert.ok(timing.medianMs <= timing.p90Ms && timing.p90Ms <= timing.p99Ms, name)
      assert.ok(timing.throughput > 0)
      assert.ok(timing.ratio.low <= timing.ratio.median && timing.ratio.median <= timing.ratio.high, name)
      if (index > 0) assert.ok(accuracy.maxAbsError >= 0 && accuracy.minCosine > 0.99, `${name} is verified`)
    } else {
      assert.equal(timing, null, `${name} was not timed`)
    }
  }
  assert.equal(candidates[winner].status, 'OK')
  assert.match(candidates[winner].reason, /^chosen/)
  assert.deepEqual(candidates[0].timing?.ratio ?? { median: 1, low: 1, high: 1 }, { median: 1, low: 1, high: 1 })
  assert.deepEqual(tuned.backend.settings, candidates[winner].settings, 'the winner is what runs')
  assert.ok(report.elapsedMs > 0 && workload.samples > 0 && workload.concurrency > 0)
  return report
}

test('a report tells the model, the machine, the workload and every candidate', async () => {
  const tuned = await tune(mlp, samples, { budgetMs: 1500, seed: 7 })
  const report = assertReport(tuned)
  assert.equal(report.model.path, generated('mlp_tiny'))
  assert.match(report.model.sha256, /^[0-9a-f]{64}$/)
  assert.equal(report.machine.os, process.platform)
  assert.equal(report.machine.onnxruntime, mlp.backend.version)
  assert.ok(Array.isArray(report.machine.cpuFeatures))
  const { batchSizes, measuredBatchSize, samples: count, concurrency } = report.workload
  assert.deepEqual({ batchSizes, measuredBatchSize, count }, { batchSizes: [1, 2], measuredBatchSize: 2, count: 3 })
  assert.equal(concurrency, report.machine.threads)
  assert.deepEqual({ seed: report.seed, budgetMs: report.budgetMs }, { seed: 7, budgetMs: 1500 })
  assert.equal(report.strategy.name, 'MaxThroughputStrategy')
  assert.equal(report.performanceValidation, 'enabled')
  assert.deepEqual(report.candidates[0].settings, mlp.backend.settings, 'the baseline is the untuned module')
  assert.ok(report.candidates.length > 2)
  await tuned.dispose()
})

test('describe is a table of all candidates with the winner marked, and the verdict', async () => {
  const tuned = await tune(mlp, samples, quick)
  const text = tuned.report.describe()
  const { candidates, verdict } = tuned.report
  assert.ok(text.endsWith(verdict))
  const rows = text.split('\n').filter((line) => / (OK|FAILED|SKIPPED|SLOWER|INACCURATE) /.test(line))
  assert.equal(rows.length, candidates.length)
  assert.deepEqual(
    rows.map((row) => row.includes('chosen')),
    candidates.map((one) => one === tuned.candidate)
  )
  assert.match(text, /baseline/)
  assert.doesNotMatch(text, /undefined|NaN|\[object/)
  await tuned.dispose()
})

test('the tuned module answers as the untuned one, which stays usable', async () => {
  const tuned = await tune(mlp, samples, quick)
  for (const rows of [1, 2, 5]) {
    const x = numbers(16 * rows, rows)
    const [{ y: before }, { y: now }] = [await mlp.run(x), await tuned.run({ x })]
    assert.deepEqual(now.dims, before.dims)
    now.data.forEach((value, index) => assert.ok(Math.abs(value - before.data[index]) < 1e-5))
    assert.deepEqual(plain(tuned.runSync({ x })), plain({ y: now }))
  }
  await tuned.dispose()
  assert.equal((await mlp.run(samples[0])).y.size, 4)
})

test('a path is loaded, tuned and let go', async () => {
  const tuned = await tune(generated('mlp_tiny'), samples, quick)
  assertReport(tuned)
  assert.deepEqual(tuned.graphInfo, mlp.graphInfo)
  assert.equal((await tuned.run(samples[0])).y.size, 4)
  await tuned.dispose()
})

test('a tuned module can be tuned again; its setting is the baseline', async () => {
  const strategy = new OneBackendStrategy(new ONNXRuntimeBackend(slowest))
  const first = await tune(mlp, samples, quick)
  const second = await tune(first, samples, { ...quick, strategy })
  assert.deepEqual(second.report.candidates[0].settings, first.candidate.settings)
  await Promise.all([first.dispose(), second.dispose()])
})

test('OneBackendStrategy holds one candidate against the baseline', async () => {
  const strategy = new OneBackendStrategy(new ONNXRuntimeBackend(slowest))
  const tuned = await tune(mlp, samples, { ...quick, strategy })
  const { candidates, strategy: told } = assertReport(tuned)
  assert.equal(candidates.length, 2)
  const { callers, backend } = candidates[1].settings
  assert.deepEqual(
    { callers, threads: backend.threads, graph: backend.graphOptimization, spinning: backend.spinning },
    { callers: 1, threads: 1, graph: 'disabled', spinning: false }
  )
  assert.equal(told.name, 'OneBackendStrategy')
  assert.deepEqual(JSON.parse(JSON.stringify(strategy)).backend, slowest)
  await tuned.dispose()
})

test('a backend that is what the module runs on already keeps the baseline', async () => {
  const alike = [new OneBackendStrategy(new ONNXRuntimeBackend())]
  const { callers, backend } = mlp.backend.settings
  const { threads, spinning, graphOptimization } = backend
  const pinned = new ONNXRuntimeBackend({ threads, callers, spinning, graphOptimization })
  alike.push(new OneBackendStrategy(pinned), new MaxThroughputStrategy({ backends: [pinned] }))
  for (const strategy of alike) {
    const tuned = await tune(mlp, samples, { ...quick, strategy })
    assert.equal(assertReport(tuned).winner, 0)
    await tuned.dispose()
  }
})

test('what a backend pins stays in every candidate', async () => {
  const pinned = new ONNXRuntimeBackend({ callers: 3, graphOptimization: 'basic', spinning: false })
  const tuned = await tune(mlp, samples, { ...quick, strategy: new MaxThroughputStrategy({ backends: [pinned] }) })
  const [, ...candidates] = assertReport(tuned).candidates
  assert.ok(candidates.length > 0)
  for (const {
    settings: { callers, backend }
  } of candidates) {
    assert.deepEqual(
      { callers, graph: backend.graphOptimization, spinning: backend.spinning },
      { callers: 3, graph: 'basic', spinning: false }
    )
  }
  await tuned.dispose()
})

test('several backends are all tried', async () => {
  const backends = [1, 3].map((callers) => new ONNXRuntimeBackend({ threads: 1, callers, graphOptimization: 'basic' }))
  const tuned = await tune(mlp, samples, { ...quick, strategy: new MaxThroughputStrategy({ backends }) })
  const { candidates } = assertReport(tuned)
  assert.deepEqual(new Set(candidates.slice(1).map(({ settings }) => settings.callers)), new Set([1, 3]))
  await tuned.dispose()
})

// The candidate has half of the baseline's threads and callers or fewer, so it is slower wherever there are several.
const slower = { strategy: new OneBackendStrategy(new ONNXRuntimeBackend(slowest)), load: { concurrency: 4 } }
for (const [performanceValidation, winner] of [
  ['enabled', 0],
  ['diagnostic', 1],
  ['disabled', 1]
]) {
  const who = ['the baseline', 'the candidate'][winner]
  test(`performanceValidation ${performanceValidation} and a slower candidate: ${who} is taken`, async () => {
    const options = { budgetMs: 800, performanceValidation, ...slower }
    const tuned = await tune(generated('cnn_fixed1'), [numbers(3 * 96 * 96)], options)
    const report = assertReport(tuned)
    assert.equal(report.performanceValidation, performanceValidation)
    assert.equal(report.workload.concurrency, 4)
    if (report.machine.threads > 1) assert.equal(report.winner, winner)
    await tuned.dispose()
  })
}

test('accuracy limits of zero let identical outputs pass', async () => {
  const strategy = new OneBackendStrategy(new ONNXRuntimeBackend(slowest))
  const tuned = await tune(generated('identity'), [numbers(4)], { ...quick, accuracy: { rtol: 0, atol: 0 }, strategy })
  const { candidates, accuracyLimits } = assertReport(tuned)
  assert.deepEqual(accuracyLimits, { rtol: 0, atol: 0 })
  assert.deepEqual(candidates[1].accuracy, { maxAbsError: 0, maxRelError: 0, minCosine: 1 })
  await tuned.dispose()
})

test('when every candidate is inaccurate, the error has all the reasons', async () => {
  // Batch norms folded into convolutions, as the baseline has them, and not folded are never the same bit for bit.
  const backends = [1, 2].map((callers) => new ONNXRuntimeBackend({ ...slowest, callers }))
  const options = { ...quick, accuracy: { rtol: 0, atol: 0 }, strategy: new MaxThroughputStrategy({ backends }) }
  const error = await caught(tune(generated('cnn_fixed1'), [numbers(3 * 96 * 96)], options))
  assert.equal(error.code, 'ERR_TUNE_NO_CANDIDATE')
  for (const callers of ['1 caller', '2 callers']) {
    const reason = new RegExp(`${callers}, graph disabled: output "prob": element \\d+ is .* beyond rtol 0`)
    assert.match(error.message, reason)
  }
})

test('models of strings, sequences, maps and control flow are tuned', async () => {
  const cases = [
    ['strings', ['cat', 'dog'].map((text) => [text])],
    ['zipmap', [numbers(4)]],
    ['sequence', [{ x: [numbers(4)].map((row) => [...row]) }]],
    ['control_flow', [1, 2].map((seed) => ({ x: numbers(8, seed), n: 3, flag: false }))]
  ]
  for (const [name, dataset] of cases) {
    const strategy = new OneBackendStrategy(new ONNXRuntimeBackend(slowest))
    const tuned = await tune(generated(name), dataset, { budgetMs: 200, strategy })
    assertReport(tuned)
    await tuned.dispose()
  }
})

test('progress goes from recording to choosing, and tells of candidates', async () => {
  const events = []
  const tuned = await tune(mlp, samples, { ...quick, onProgress: (event) => events.push(event) })
  const phases = [...new Set(events.map(({ phase }) => phase))]
  assert.ok(phases.includes('build') && phases.includes('measure'), phases.join())
  const names = new Set(tuned.report.candidates.map(({ name }) => name))
  let last = 0
  for (const { phase, candidate, index, total, fraction, message, etaMs } of events) {
    assert.ok(fraction >= last && fraction <= 1)
    last = fraction
    assert.ok(phase === 'choose' || names.has(candidate), candidate)
    assert.ok(index <= total && message.startsWith(phase) && etaMs >= 0)
  }
  await tuned.dispose()
})

for (const when of ['record', 'measure', 'choose']) {
  test(`what the progress callback throws at ${when} is what tune rejects with`, async () => {
    const thrown = new RangeError(`at ${when}`)
    const onProgress = ({ phase }) => {
      if (phase === when) throw thrown
    }
    assert.equal(await caught(tune(mlp, samples, { ...quick, onProgress })), thrown)
  })
}

test('the baseline does not stay where a candidate that raced to the end is faster beyond noise', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const tuned = await tune(mlp, samples, { ...quick, seed })
    const { winner, candidates, verdict } = assertReport(tuned)
    const raced = candidates.filter(({ status }) => status === 'OK')
    const faster = raced.filter(({ timing }) => timing?.ratio.low > 1 && timing.ratio.median >= 1.01)
    const shown = faster.map(({ name, timing: { ratio } }) => `${name}: ${JSON.stringify(ratio)}`)
    assert.ok(winner > 0 || faster.length === 0, `${verdict}, but ${shown}`)
    await tuned.dispose()
  }
})

test('a budget that allows nothing keeps the baseline', async () => {
  const tuned = await tune(mlp, samples, { budgetMs: 0.001 })
  const { winner, candidates } = assertReport(tuned)
  assert.equal(winner, 0)
  assert.ok(candidates.slice(1).every(({ status }) => status === 'SKIPPED'))
  await tuned.dispose()
})

test('a budget larger than time itself is no crash', async () => {
  const program = `const options = { budgetMs: Number.MAX_VALUE, signal: AbortSignal.timeout(300) }
    const { code } = await onnxtune.tune(generated('mlp_tiny'), [new Float32Array(16)], options).catch((error) => error)
    console.log(JSON.stringify(code))`
  assert.equal(await runQuietly(program), 'ABORT_ERR')
})

test('a real model is tuned', { skip: lacks('minilm') }, async () => {
  const sentence = (length, seed) => ({
    input_ids: BigInt64Array.from({ length }, (_, index) => BigInt(1000 + index * seed)),
    attention_mask: new Array(length).fill(1)
  })
  const dataset = [sentence(12, 1), sentence(12, 2), sentence(7, 3)]
  const tuned = await tune(fetched('minilm'), dataset, { budgetMs: 3000 })
  const { workload, candidates } = assertReport(tuned)
  assert.deepEqual(workload.batchSizes, [1, 2])
  assert.ok(candidates.some(({ accuracy }) => accuracy !== null))
  const inputs = { input_ids: [[101, 2000, 102]], attention_mask: [[1, 1, 1]] }
  assert.deepEqual((await tuned.run(inputs))['onnx::Shape_422'].dims, [1, 3, 384])
  await tuned.dispose()
})

test('a target that is neither module nor model is refused', async () => {
  await throwsFault(tune({}, samples), TypeError, 'ERR_SOURCE')
  await throwsFault(tune(undefined, samples), TypeError, 'ERR_SOURCE')
})
