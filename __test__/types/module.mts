import { expectTypeOf } from 'expect-type'
import {
  OnnxModule,
  Tensor,
  type BackendInfo,
  type GraphInfo,
  type Inputs,
  type NamedInputs,
  type Outputs,
  type OutputValue,
  type Placement,
  type Profile,
  type RunSyncOptions
} from 'onnxtune'

const { signal } = new AbortController()
const module = await OnnxModule.load('model.onnx', {
  threads: 2,
  callers: 1,
  spinning: false,
  graphOptimization: 'extended',
  executionMode: 'parallel',
  interOpThreads: 2,
  flushDenormals: true,
  memoryArena: false,
  memoryPattern: false,
  dimensionOverrides: { batch: 1 },
  configEntries: { 'session.disable_prepacking': '1' },
  queueLimit: 16,
  inline: 'auto',
  optimizedModelPath: 'optimized.onnx',
  profiling: new URL('file:///trace'),
  providers: ['cuda', 'cpu'],
  fallback: true,
  signal
})
expectTypeOf(module).toEqualTypeOf<OnnxModule>()
expectTypeOf(module.graphInfo).toEqualTypeOf<GraphInfo>()
expectTypeOf(module.backend).toEqualTypeOf<BackendInfo>()
expectTypeOf(module.backend.settings.backend.threads).toEqualTypeOf<number>()
expectTypeOf(module.backend.settings.backend.memoryArena).toEqualTypeOf<boolean | undefined>()
expectTypeOf(module.backend.fallback?.requested).toEqualTypeOf<'cpu' | 'cuda' | 'tensorrt' | undefined>()
expectTypeOf(module.device).toEqualTypeOf<'cpu'>()
expectTypeOf(module.placement).toEqualTypeOf<readonly Placement[]>()
expectTypeOf(module.placement[0].operators['com.microsoft::Gelu']).toEqualTypeOf<number>()
expectTypeOf(module.warmup({ x: [1, 3, 224, 224] })).toEqualTypeOf<Promise<void>>()
expectTypeOf(module.endProfiling()).toEqualTypeOf<Promise<Profile | null>>()
expectTypeOf((await module.endProfiling())?.operators[0].totalMs).toEqualTypeOf<number | undefined>()
for (const profiling of [true, false, 'trace']) void OnnxModule.load('model.onnx', { profiling })
void OnnxModule.load(new Uint8Array(8), { externalData: 'folder' })
void OnnxModule.load(new Uint8Array(8), { externalData: new URL('file:///folder') })

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

// Sequences, maps and optionals.
void module.run({ sequence: [floats, [1, 2], new Tensor(floats, [2, 3])], nested: [[floats], []], empty: [] })
void module.run({ map: new Map([[1n, 0.5]]), maps: [new Map([['a', 1]]), new Map([['b', 2n]])] })
void module.run({ optional: null, other: undefined })
void module.run([null, floats, [floats, floats], new Map([['a', 1]])])

// Outputs are tensors, unless the caller knows better.
const outputs = await module.run(kept, { signal })
expectTypeOf(outputs).toEqualTypeOf<Outputs>()
expectTypeOf(outputs.logits).toEqualTypeOf<Tensor>()
expectTypeOf(module.runSync(kept)).toEqualTypeOf<Outputs>()
type Classified = { label: Tensor<'int64'>; probabilities: Map<bigint, number>[] }
expectTypeOf(await module.run<Classified>(kept)).toEqualTypeOf<Classified>()
expectTypeOf(module.runSync<Record<string, OutputValue>>(kept).y).toEqualTypeOf<OutputValue>()

// Which outputs, and where to.
const into = { y: new Float32Array(6), z: new Tensor(floats), w: outputs.w }
void module.run(floats, { outputs: ['y'], into, ignoreExtraInputs: true, timeoutMs: 100, signal })
const selected: RunSyncOptions = { outputs: ['y'] as const, into: { y: new Uint8Array(6) } }
void module.runSync(floats, selected)
void module.run(floats, { ...selected, timeoutMs: 0.5 })
void module.run(floats, { outputs: undefined, into: undefined, ignoreExtraInputs: undefined, timeoutMs: undefined })

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
// @ts-expect-error nor is a map among its values
void module.run({ x: new Map([['x', floats]]) })
// @ts-expect-error a set is no sequence
void module.run({ x: new Set([floats]) })
// @ts-expect-error names are a list
void module.run(floats, { outputs: 'y' })
// @ts-expect-error strings are written to no array
void module.run(floats, { into: { y: ['a'] } })
// @ts-expect-error an ArrayBuffer does not tell its elements
void module.run(floats, { into: { y: new ArrayBuffer(8) } })
// @ts-expect-error nothing can end it before its time
void module.runSync(floats, { timeoutMs: 100 })
// @ts-expect-error no such choice
void OnnxModule.load('model.onnx', { inline: true })
// @ts-expect-error no such provider
void OnnxModule.load('model.onnx', { providers: ['gpu'] })
// @ts-expect-error lengths are numbers
void OnnxModule.load('model.onnx', { dimensionOverrides: { batch: '1' } })
// @ts-expect-error the runtime's entries are texts
void OnnxModule.load('model.onnx', { configEntries: { 'session.disable_prepacking': true } })
// @ts-expect-error the placement is read only
module.placement[0].nodes = 0
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
