import { expectTypeOf } from 'expect-type'
import {
  MaxThroughputStrategy,
  OneBackendStrategy,
  ONNXRuntimeBackend,
  OnnxModule,
  tune,
  TunedModule,
  TuneReport,
  type CandidateReport,
  type CandidateStatus,
  type Strategy,
  type Timing,
  type TuneReportJson
} from 'onnxtune'

const samples = [{ x: new Float32Array(6) }]
const backend = new ONNXRuntimeBackend({ threads: 1, spinning: true })
void new ONNXRuntimeBackend({ executionMode: 'parallel', memoryArena: false, dimensionOverrides: { batch: 1 } })
const strategies: Strategy[] = [
  new OneBackendStrategy(backend),
  new MaxThroughputStrategy(),
  new MaxThroughputStrategy({ backends: [backend, new ONNXRuntimeBackend()] })
]
const tuned = await tune('model.onnx', samples, {
  strategy: strategies[0],
  batchSizes: [1, 8],
  maxBatchesPerBatchSize: 4,
  maxSamples: 64,
  accuracy: { rtol: 1e-3 },
  performanceValidation: 'diagnostic',
  budgetMs: 60_000,
  load: { concurrency: 8 },
  seed: 7,
  signal: AbortSignal.timeout(1000),
  onProgress: ({ phase, message, etaMs }) => console.log(phase, message, etaMs)
})

// What it gives runs like any module, and may be tuned again.
expectTypeOf(tuned).toEqualTypeOf<TunedModule>()
expectTypeOf(tuned).toExtend<OnnxModule>()
expectTypeOf(await tuned.run(samples[0])).toEqualTypeOf(await OnnxModule.prototype.run(samples[0]))
void tune(tuned, samples)

expectTypeOf(tuned.report).toEqualTypeOf<TuneReport>()
expectTypeOf(tuned.candidate).toEqualTypeOf<CandidateReport>()
expectTypeOf(tuned.report.candidates[tuned.report.winner]).toEqualTypeOf<CandidateReport>()
expectTypeOf(tuned.candidate.status).toEqualTypeOf<CandidateStatus>()
expectTypeOf(tuned.candidate.timing).toEqualTypeOf<Timing | null>()
expectTypeOf(tuned.candidate.timing?.ratio.low).toEqualTypeOf<number | undefined>()
expectTypeOf(tuned.report.describe()).toEqualTypeOf<string>()
const json: TuneReportJson = tuned.report.toJSON()
if (json.strategy.name === 'OneBackendStrategy') {
  expectTypeOf(json.strategy.backend.threads).toEqualTypeOf<number | null>()
  expectTypeOf(json.strategy.backend.memoryArena).toEqualTypeOf<boolean | null>()
}

await tuned.save(new URL('file:///model.tuned'), { signal: AbortSignal.timeout(1000) })
expectTypeOf(await TunedModule.load('model.tuned')).toEqualTypeOf<TunedModule>()

// @ts-expect-error an untuned module has no report
expectTypeOf<OnnxModule>().toExtend<TunedModule>()
// @ts-expect-error tuned modules come from tune and load
void new TunedModule()
// @ts-expect-error reports come from tune
void new TuneReport({})
// @ts-expect-error a checkpoint is a file
void TunedModule.load(new Uint8Array(8))
// @ts-expect-error its settings are those of the tune
void TunedModule.load('model.tuned', { threads: 2 })
// @ts-expect-error a strategy is an object, not its name
void tune('model.onnx', samples, { strategy: 'MaxThroughputStrategy' })
// @ts-expect-error a strategy has a backend
void new OneBackendStrategy()
// @ts-expect-error settings are no backend
void new OneBackendStrategy({ threads: 1 })
// @ts-expect-error a slip in an option's name
void new ONNXRuntimeBackend({ thread: 1 })
// @ts-expect-error how a module is served is no part of what is tuned
void new ONNXRuntimeBackend({ queueLimit: 8 })
// @ts-expect-error one size is a list, too
void tune('model.onnx', samples, { batchSizes: 2 })
// @ts-expect-error limits are by name
void tune('model.onnx', samples, { accuracy: 1e-3 })
// @ts-expect-error no such choice
void tune('model.onnx', samples, { performanceValidation: true })
// @ts-expect-error backends are frozen
backend.options.threads = 2
// @ts-expect-error a dataset is not left out
void tune('model.onnx')
