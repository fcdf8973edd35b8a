import { expectTypeOf } from 'expect-type'
import { inspect, InspectReport, OnnxModule, type InspectReportJson, type ModuleReport, type Progress } from 'onnxtune'

const sample = new Float32Array(6)
const report = await inspect('model.onnx', [sample], {
  iterations: 100,
  warmup: 0,
  signal: AbortSignal.timeout(1000),
  onProgress: (progress) => {
    expectTypeOf(progress).toEqualTypeOf<Progress>()
    expectTypeOf(progress.fraction).toEqualTypeOf<number>()
  }
})
expectTypeOf(report).toEqualTypeOf<InspectReport>()
expectTypeOf(report.modules).toEqualTypeOf<readonly ModuleReport[]>()
expectTypeOf(report.getModules()).toEqualTypeOf<readonly ModuleReport[]>()
expectTypeOf(report.modules[0].p99Ms).toEqualTypeOf<number>()
expectTypeOf(report.describe()).toEqualTypeOf<string>()
expectTypeOf(report.toJSON()).toEqualTypeOf<InspectReportJson>()

// Datasets of every kind.
declare const module: OnnxModule
function* some() {
  yield { x: sample }
}
async function* later() {
  yield [sample, sample]
}
void inspect(module, some())
void inspect(module, later())
void inspect(module, new Set([sample]))
void inspect(new Uint8Array(8), [Promise.resolve(sample)])
void inspect(module, [{ x: { data: sample, dims: [2, 3] } }, { x: [[1, 2, 3]] }])

// @ts-expect-error one sample is no dataset
void inspect(module, sample)
// @ts-expect-error nor is a string
void inspect(module, 'samples.json')
// @ts-expect-error nor is an object
void inspect(module, { x: sample })
// @ts-expect-error reports come from inspect
void new InspectReport({})
// @ts-expect-error a slip in an option's name
void inspect(module, [sample], { iteration: 3 })
