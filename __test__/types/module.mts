import { expectTypeOf } from 'expect-type'
import {
  OnnxModule,
  Tensor,
  type BackendInfo,
  type GraphInfo,
  type Inputs,
  type NamedInputs,
  type Outputs,
  type OutputValue
} from 'onnxtune'

const { signal } = new AbortController()
const module = await OnnxModule.load('model.onnx', {
  threads: 2,
  callers: 1,
  spinning: false,
  graphOptimization: 'extended',
  signal
})
expectTypeOf(module).toEqualTypeOf<OnnxModule>()
expectTypeOf(module.graphInfo).toEqualTypeOf<GraphInfo>()
expectTypeOf(module.backend).toEqualTypeOf<BackendInfo>()
expectTypeOf(module.backend.settings.backend.threads).toEqualTypeOf<number>()
expectTypeOf(module.device).toEqualTypeOf<'cpu'>()

// Disposal by hand and by scope.
expectTypeOf(module.dispose()).toEqualTypeOf<Promise<void>>()
expectTypeOf(module).toExtend<AsyncDisposable>()
async function scoped() {
  await using inner = await OnnxModule.load(new Uint8Array(8), { externalData: { weights: Buffer.alloc(8) } })
  return inner.run({})
}
void scoped()

// Inputs by name, by position, or the value of the only one.
const floats = new Float32Array(6)
void module.run({ 'input.1': floats, __proto__: floats })
void module.run({ x: { data: floats, dims: [2, 3] }, y: { data: [1, 2], shape: [2] }, z: undefined })
void module.run({ x: { data: Buffer.alloc(24), dims: [2, 3], type: 'float32' } })
void module.run({ x: new Tensor(floats, [2, 3]) })
void module.run([floats, new BigInt64Array(2)])
void module.run(floats)
void module.run([
  [1, 2, 3],
  [4, 5, 6]
])
void module.run([[[101n, 102n]], [[1, 1]]])
void module.run([
  ['a', 'b'],
  [true, false]
])
void module.run(7)
void module.run(new Map([['x', floats]]).get('x') ?? [])
const kept: NamedInputs = { x: floats }
expectTypeOf(kept).toExtend<Inputs>()

// Outputs are tensors, unless the caller knows better.
const outputs = await module.run(kept, { signal })
expectTypeOf(outputs).toEqualTypeOf<Outputs>()
expectTypeOf(outputs.logits).toEqualTypeOf<Tensor>()
expectTypeOf(module.runSync(kept)).toEqualTypeOf<Outputs>()
type Classified = { label: Tensor<'int64'>; probabilities: Map<bigint, number>[] }
expectTypeOf(await module.run<Classified>(kept)).toEqualTypeOf<Classified>()
expectTypeOf(module.runSync<Record<string, OutputValue>>(kept).y).toEqualTypeOf<OutputValue>()

// @ts-expect-error modules come from load
void new OnnxModule()
// @ts-expect-error how the package gets at native code is not for others
module.native
// @ts-expect-error a slip in an option's name
void OnnxModule.load('model.onnx', { thread: 2 })
// @ts-expect-error no such level
void OnnxModule.load('model.onnx', { graphOptimization: 'max' })
// @ts-expect-error a number of threads
void OnnxModule.load('model.onnx', { threads: '2' })
// @ts-expect-error a Map is no object by name
void module.run(new Map([['x', floats]]))
// @ts-expect-error null is no value
void module.run({ x: null })
// @ts-expect-error a Date is no value
void module.run({ x: new Date() })
// @ts-expect-error an ArrayBuffer does not tell its elements
void module.run({ x: new ArrayBuffer(8) })
// @ts-expect-error a controller is no signal
void module.run(floats, { signal: new AbortController() })
// @ts-expect-error it cannot be cancelled
void module.runSync(floats, { signal })
// @ts-expect-error dates are no outputs
void module.run<{ y: Date }>(floats)
// @ts-expect-error facts are read only
module.backend.version = '2'
