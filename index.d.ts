// The public face of onnxtune, written by hand. `AbortSignal` and `URL` are the globals of @types/node or lib.dom.

/// <reference lib="esnext.disposable" />

// ---------------------------------------------------------------------------------------------------------------------
// Types of elements

/** An element type of ONNX, by the name that `onnxruntime-common` gives it where it has one. */
export type DType = keyof TensorDataMap

/** Any typed array that can hold a tensor. A `Buffer` is a `Uint8Array`. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Float16Data
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | BigUint64Array

/**
 * What holds float16: a `Float16Array` where the JavaScript engine has that class (Node 24 and later), else the bits in
 * a `Uint16Array`. Programs whose `lib` does not know `Float16Array` see `Uint16Array` alone.
 */
export type Float16Data = typeof globalThis extends { Float16Array: { prototype: infer A } }
  ? A | Uint16Array
  : Uint16Array

/**
 * The array that holds the elements of each type, in row-major order.
 *
 * Types that JavaScript lacks are given as their bits: `bfloat16` in 16, the 8-bit floats in 8; those below 8 bits are
 * packed, two or four to a byte, the first in the lowest bits. Complex numbers are pairs, real part first.
 */
export interface TensorDataMap {
  float32: Float32Array
  float64: Float64Array
  float16: Float16Data
  bfloat16: Uint16Array
  int8: Int8Array
  int16: Int16Array
  int32: Int32Array
  int64: BigInt64Array
  uint8: Uint8Array | Uint8ClampedArray
  uint16: Uint16Array
  uint32: Uint32Array
  uint64: BigUint64Array
  /** 0 and 1. */
  bool: Uint8Array
  string: string[]
  complex64: Float32Array
  complex128: Float64Array
  float8e4m3fn: Uint8Array
  float8e4m3fnuz: Uint8Array
  float8e5m2: Uint8Array
  float8e5m2fnuz: Uint8Array
  float8e8m0: Uint8Array
  uint4: Uint8Array
  int4: Uint8Array | Int8Array
  float4e2m1: Uint8Array
  uint2: Uint8Array
  int2: Uint8Array | Int8Array
}

/** One element as JavaScript has it; a bool is 0 or 1, a type that JavaScript lacks is its bits. */
export type TensorElement<T extends DType = DType> = T extends 'string'
  ? string
  : T extends 'int64' | 'uint64'
    ? bigint
    : number

/** Elements in arrays in arrays, as deep as the tensor has dimensions; a scalar is the element itself. */
export type NestedArray<E> = E | readonly NestedArray<E>[]

// ---------------------------------------------------------------------------------------------------------------------
// Tensors

/** A dense tensor on the CPU; see {@link Tensor}. */
export interface TypedTensor<T extends DType> {
  readonly type: T
  /** The elements in row-major order. It is the tensor's own array, not a copy. */
  readonly data: TensorDataMap[T]
  /** Empty for a scalar. */
  readonly dims: readonly number[]
  /** Number of elements: the product of `dims`. */
  readonly size: number
  readonly location: 'cpu'
  /** `data`; here so that code written for `onnxruntime-common` runs. */
  getData(): Promise<TensorDataMap[T]>
  /**
   * The elements as nested arrays; a scalar as itself.
   * @throws TypeError `ERR_TENSOR` for complex and packed types; read `data`.
   */
  toArray(): NestedArray<TensorElement<T>>
  /**
   * The same data under other dims.
   * @throws RangeError `ERR_TENSOR` unless the number of elements stays the same.
   */
  reshape(dims: readonly number[]): Tensor<T>
  /** Frees nothing on the CPU; here so that code written for `onnxruntime-common` runs. */
  dispose(): void
}

/**
 * A dense tensor on the CPU, with the `type`, `data`, `dims`, `size` and `location` of `onnxruntime-common`'s, whose
 * tensors can be given as inputs too. Comparing `type` tells the type of `data`:
 *
 * ```ts
 * const { logits } = await module.run({ x })
 * if (logits.type === 'float32') logits.data // Float32Array
 * ```
 */
export type Tensor<T extends DType = DType> = T extends DType ? TypedTensor<T> : never

/** Makes tensors. Neither `data` nor `dims` is copied. Without `dims` a tensor is one-dimensional. */
export interface TensorConstructor {
  /**
   * A tensor of strings.
   * @throws TypeError | RangeError `ERR_TENSOR` when `data` cannot hold the type, or not that many elements; so do all
   *   forms.
   */
  new (type: 'string', data: readonly string[], dims?: readonly number[]): Tensor<'string'>
  /** A tensor of the given type. */
  new <T extends DType>(type: T, data: TensorDataMap[T], dims?: readonly number[]): Tensor<T>
  /** A tensor whose type is that of the array: `new Tensor(new Float32Array(6), [2, 3])`. */
  new (data: Float32Array, dims?: readonly number[]): Tensor<'float32'>
  new (data: Float64Array, dims?: readonly number[]): Tensor<'float64'>
  new (data: Int8Array, dims?: readonly number[]): Tensor<'int8'>
  new (data: Int16Array, dims?: readonly number[]): Tensor<'int16'>
  new (data: Int32Array, dims?: readonly number[]): Tensor<'int32'>
  new (data: BigInt64Array, dims?: readonly number[]): Tensor<'int64'>
  new (data: Uint8Array | Uint8ClampedArray, dims?: readonly number[]): Tensor<'uint8'>
  new (data: Uint16Array, dims?: readonly number[]): Tensor<'uint16'>
  new (data: Uint32Array, dims?: readonly number[]): Tensor<'uint32'>
  new (data: BigUint64Array, dims?: readonly number[]): Tensor<'uint64'>
  new (data: Exclude<Float16Data, Uint16Array>, dims?: readonly number[]): Tensor<'float16'>
  new (data: readonly string[], dims?: readonly number[]): Tensor<'string'>
  readonly prototype: Tensor
}

export declare const Tensor: TensorConstructor

/** One element of an input. Integers for int64 and uint64 may be numbers as long as they are safe. */
export type Scalar = number | bigint | boolean | string

/** A value with its dims. Tensors of this package and of `onnxruntime-common` are such. */
export type TensorObject = {
  /**
   * A typed array of the input's type, or (nested) arrays of elements, row-major. With `type`, a `Uint8Array` or
   * `Buffer` is taken for the raw bytes of that type, little-endian.
   */
  readonly data: TypedArray | NestedArray<Scalar>
  /** What `data` holds; must be the graph's type of that input. */
  readonly type?: DType | undefined
} & ({ readonly dims: readonly number[] } | { readonly shape: readonly number[]; readonly dims?: undefined })

/**
 * The value of one input. A bare typed array, a flat array or a scalar gets its shape from the graph, which works when
 * one dimension at the most is unknown; nested arrays have their own.
 */
export type TensorLike = TypedArray | TensorObject | NestedArray<Scalar>

/**
 * The value of one input of any type: a tensor, an array for a sequence, a `Map` for a map; for an optional its value, or
 * null for none. The tensors of a sequence tell their own shapes: a bare typed array there has one dimension.
 */
export type InputValue =
  TensorLike | readonly InputValue[] | ReadonlyMap<string | number | bigint, string | number | bigint> | null

/**
 * Input values by the graph's names; every input must be there, but for optionals. `undefined` stands for left out.
 */
export interface NamedInputs {
  readonly [name: string]: InputValue | undefined
}

/**
 * Inputs of a run: by name, by position in graph order, or, for a graph of one input, its value alone. Sequences and maps
 * that are a graph's only input go by name.
 *
 * They count as they are at the time of the call and are never changed or kept.
 */
export type Inputs = NamedInputs | readonly InputValue[] | TensorLike

/** One output: a tensor, a sequence, a map, or null for an optional without a value. */
export type OutputValue = Tensor | OutputValue[] | Map<string | number | bigint, string | number | bigint> | null

/**
 * Outputs by name, in graph order. They belong to the caller.
 *
 * Nearly every model gives tensors only. For one with sequences or maps (`graphInfo.outputs` tells) name the type:
 * `run<{ label: Tensor<'int64'>; probabilities: Map<bigint, number>[] }>(inputs)`. It is taken on trust.
 */
export interface Outputs {
  [name: string]: Tensor
}

// ---------------------------------------------------------------------------------------------------------------------
// Graphs

/**
 * A model: a path, a `file:` URL, or the bytes of an ONNX file. Bytes are copied. Files in ONNX Runtime's own format (.ort)
 * can be loaded and run, not read or tuned: their `graphInfo` has inputs and outputs only.
 */
export type ModelSource = string | URL | Uint8Array | ArrayBuffer

/** A fixed length, a symbol (the same symbol means the same length within one run), or null for an unnamed free one. */
export type Dim = number | string | null

/** Number format of a model's weights. */
export type Precision = 'fp64' | 'fp32' | 'fp16' | 'bf16' | 'fp8' | 'fp4' | 'int16' | 'int8' | 'int4' | 'int2'

/** An input or output of a graph. */
export interface ValueInfo {
  readonly name: string
  /** `tensor(float32)`, `sequence(map(int64,float32))`, `optional(tensor(float32))`, …; `unknown` for the unsaid. */
  readonly type: string
  /** Element type of a dense tensor; null for all else. */
  readonly dtype: DType | null
  /** Shape of a dense tensor, empty for a scalar; null when the rank is unknown. */
  readonly shape: readonly Dim[] | null
}

/** A file beside the model that holds weights. */
export interface ExternalDataInfo {
  /** As written in the model. */
  readonly location: string
  /** Size of the file when it is present, else what the model needs of it. */
  readonly bytes: number
  /** Whether it is there and may be read. */
  readonly present: boolean
}

/**
 * What a graph needs and holds. What the file does not say is null, never guessed. Integers above 2^53 lose digits.
 */
export interface GraphInfo {
  /** As given; null for a model in memory. */
  readonly modelPath: string | null
  readonly irVersion: number | null
  /** Version by domain; `''` is the standard domain, also when the file spells it `ai.onnx`. */
  readonly opsets: Readonly<Record<string, number>>
  /** Version of the standard domain. */
  readonly opsetVersion: number | null
  /** Sorted and unique; `domain::Op` outside the standard domain. Subgraphs and functions are included. */
  readonly operators: readonly string[]
  /** Nodes by operator. */
  readonly operatorCounts: Readonly<Record<string, number>>
  /** In graph order. Initialisers that are listed as inputs are none. */
  readonly inputs: readonly ValueInfo[]
  /** In graph order. */
  readonly outputs: readonly ValueInfo[]
  // The same as arrays parallel to `inputs` and `outputs`.
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  readonly inputDtypes: readonly (DType | null)[]
  readonly outputDtypes: readonly (DType | null)[]
  readonly inputShapes: readonly (readonly Dim[] | null)[]
  readonly outputShapes: readonly (readonly Dim[] | null)[]
  /** The format of most weights, counted in elements; null when nothing tells. */
  readonly precision: Precision | null
  /** Elements of all weights. */
  readonly parameters: number
  /** Bytes of all weights, external ones included. */
  readonly weightBytes: number
  /** One entry per file, in order of first use. */
  readonly externalData: readonly ExternalDataInfo[]
  readonly producerName: string | null
  readonly producerVersion: string | null
  readonly modelVersion: number | null
  readonly docString: string | null
  /** The model's own key-value pairs. */
  readonly metadata: Readonly<Record<string, string>>
  /** Model-local functions as `domain::name`, sorted. */
  readonly functions: readonly string[]
}

/** Options of calls that can be cancelled. */
export interface CancelOptions {
  /** Ends the call, which rejects with an {@link AbortError} whose `cause` is the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Where a model given as bytes has its weights, if they are not in it: the bytes of the files by location, or the folder
 * that the files are in, as a path or `file:` URL. A model given by path finds its own, and refuses this (`ERR_OPTION`).
 */
export type ExternalData = Readonly<Record<string, Uint8Array>> | string | URL

/** Options of {@link readGraph}. */
export interface ReadGraphOptions {
  /** Looked at once, before the file is read. */
  readonly signal?: AbortSignal | undefined
  readonly externalData?: ExternalData | undefined
}

/**
 * Reads what a graph needs and holds, without a session: it works for models that the runtime cannot load, and where
 * there is no runtime.
 *
 * ```ts
 * const { inputs, precision } = await readGraph('model.onnx')
 * ```
 * @throws TypeError `ERR_SOURCE`, `ERR_OPTION`
 * @throws OnnxTuneError `ERR_MODEL_NOT_FOUND` and the other `ERR_MODEL_…` of a file, `ERR_EXTERNAL_DATA_INVALID`
 */
export declare function readGraph(source: ModelSource, options?: ReadGraphOptions): Promise<GraphInfo>

// ---------------------------------------------------------------------------------------------------------------------
// Modules

/** How far ONNX Runtime rewrites a graph before it runs it; each level holds the ones before. */
export type GraphOptimization = 'disabled' | 'basic' | 'extended' | 'all'

/** Whether nodes that do not depend on each other run one after another or at the same time. */
export type ExecutionMode = 'sequential' | 'parallel'

/** Settings of ONNX Runtime on the CPU. */
export interface SessionSettings {
  /** Threads that work on one operator, from 1 to 1024; the thread that runs the call is one of them. */
  readonly threads?: number | undefined
  /** Calls that run at once on the one copy of the model, each on a thread of its own, from 1 to 1024; others wait. */
  readonly callers?: number | undefined
  /** Whether idle threads spin before they sleep; it buys little latency for much CPU time. */
  readonly spinning?: boolean | undefined
  readonly graphOptimization?: GraphOptimization | undefined
  /** `'sequential'` by default. */
  readonly executionMode?: ExecutionMode | undefined
  /** Threads for nodes that run at the same time, from 1 to 1024; 1 by default. Only for `'parallel'`. */
  readonly interOpThreads?: number | undefined
  /** Whether numbers too small for full precision may count as zero, which is faster where they abound; false by default. */
  readonly flushDenormals?: boolean | undefined
  /** Whether memory that a run frees is kept for the next; true by default. Without it, idle modules hold less. */
  readonly memoryArena?: boolean | undefined
  /** Whether the memory of a run is planned ahead where shapes repeat; true by default. */
  readonly memoryPattern?: boolean | undefined
  /**
   * Lengths for the graph's symbolic dimensions, by symbol: `{ batch: 1 }`. The runtime optimises for them, and inputs of
   * other lengths are refused; `graphInfo` stays as the file has it.
   */
  readonly dimensionOverrides?: Readonly<Record<string, number>> | undefined
  /**
   * Entries of ONNX Runtime's own session configuration, such as `{ 'session.disable_prepacking': '1' }`. Keys that the
   * runtime doesn't know are refused (`ERR_CONFIG_ENTRY`); values are the runtime's to judge.
   */
  readonly configEntries?: Readonly<Record<string, string>> | undefined
}

/** Where a model can run. */
export type ProviderName = 'cpu' | 'cuda' | 'tensorrt'

/**
 * Options of {@link OnnxModule.load}. `threads` and `callers` are by default as many as the process has processors,
 * `spinning` is false, `graphOptimization` is `'all'`.
 */
export interface LoadOptions extends SessionSettings, CancelOptions {
  readonly externalData?: ExternalData | undefined
  /** Calls that may wait for a free caller, 1 or more; 4096 by default. One more is refused with `ERR_QUEUE_FULL`. */
  readonly queueLimit?: number | undefined
  /**
   * `'auto'`: `run` does a model that is known to take less than 100 µs, by the average of recent runs, on the calling
   * thread, inside the call, past the queue; calls with `signal` or `timeoutMs` excepted. It is not meant for models whose
   * time depends on their inputs: a long run after short ones holds the event loop to its end. `'never'`, the default: it
   * doesn't. Either way `run` gives a promise.
   */
  readonly inline?: 'never' | 'auto' | undefined
  /** Where the graph is written as ONNX after optimisation: a path or `file:` URL. It may suit this kind of processor only. */
  readonly optimizedModelPath?: string | URL | undefined
  /**
   * Records every node of every run until {@link OnnxModule.endProfiling}. A path or `file:` URL is what the trace's name
   * begins with (time and `.json` are added); true stands for `onnxtune-profile` in the current folder. False by default.
   */
  readonly profiling?: boolean | string | URL | undefined
  /**
   * Execution providers in order of preference; `['cpu']` by default. One that is not available is an error
   * (`ERR_PROVIDER_UNAVAILABLE`) unless `fallback` allows another.
   */
  readonly providers?: readonly ProviderName[] | undefined
  /**
   * Whether the next provider of the list, and in the end the CPU, takes the place of one that is not available; false by
   * default. `backend.fallback` tells of it, and so does a warning of the process (`ONNXTUNE_FALLBACK`), once for each
   * provider.
   */
  readonly fallback?: boolean | undefined
}

/** An array that an output is written to, or a tensor that holds one. */
export type OutputTarget =
  TypedArray | { readonly data: TypedArray | readonly string[]; readonly type?: DType | undefined }

/** Options of {@link OnnxModule.runSync}. */
export interface RunSyncOptions {
  /** Names of the outputs wanted, one or more; all by default. The others are computed and not copied. */
  readonly outputs?: readonly string[] | undefined
  /**
   * Arrays to write outputs to, by the outputs' names; the tensors of those outputs are made on them. Each must hold the
   * output's type and have exactly its length when the run ends (`ERR_INTO`); otherwise nothing is written to it, while
   * arrays of other outputs may have been. Its contents are undefined until the run ends. Only the array of a tensor that
   * is given is used: its `dims` stay as they are.
   */
  readonly into?: Readonly<Record<string, OutputTarget>> | undefined
  /** Whether inputs by names that the graph doesn't have are ignored instead of refused; false by default. */
  readonly ignoreExtraInputs?: boolean | undefined
}

/** Options of {@link OnnxModule.run}. */
export interface RunOptions extends RunSyncOptions, CancelOptions {
  /**
   * Milliseconds after which the call, waiting or running, ends with `ERR_TIMEOUT`; above 0, at most 2^31 - 1, none by
   * default. A timer of the event loop keeps them, so they are counted from the call and overrun while the loop is busy.
   */
  readonly timeoutMs?: number | undefined
}

/** A backend with all its settings; what was left out has the default of {@link SessionSettings}. */
export interface BackendConfig {
  readonly name: 'onnxruntime'
  readonly threads: number
  readonly spinning: boolean
  readonly graphOptimization: GraphOptimization
  readonly executionMode?: ExecutionMode
  readonly interOpThreads?: number
  readonly flushDenormals?: boolean
  readonly memoryArena?: boolean
  readonly memoryPattern?: boolean
  readonly dimensionOverrides?: Readonly<Record<string, number>>
  readonly configEntries?: Readonly<Record<string, string>>
}

/** All that it takes to run a model the same way again. */
export interface Settings {
  readonly backend: BackendConfig
  /** Calls that run at once on the one copy of the model. */
  readonly callers: number
}

/** What runs a module. */
export interface BackendInfo {
  readonly name: 'onnxruntime'
  /** The execution provider. */
  readonly provider: 'cpu'
  /** Version that the library tells of itself, such as `1.31.1`. */
  readonly version: string
  /** Path of the library. */
  readonly library: string
  readonly settings: Settings
  /** The first provider that was asked for and is not available; null where none was missed. */
  readonly fallback: { readonly requested: ProviderName; readonly reason: string } | null
}

/** The part of a graph that one provider runs. */
export interface Placement {
  /** As ONNX Runtime names it: `CPUExecutionProvider`. */
  readonly provider: string
  readonly nodes: number
  /**
   * Nodes by operator, `domain::Op` outside the standard domain: of the graph as it is when it is divided between
   * providers, before providers merge nodes of their own.
   */
  readonly operators: Readonly<Record<string, number>>
}

/** The time that one operator took on one provider. */
export interface OperatorTime {
  /** Without its domain. */
  readonly operator: string
  readonly provider: string
  /** Nodes run, over all runs. */
  readonly calls: number
  readonly totalMs: number
  /** Of the time of all operators, from 0 to 1. */
  readonly share: number
}

/** What a module spent its time on. */
export interface Profile {
  /** Of the trace in Chrome's format, which chrome://tracing and Perfetto show. */
  readonly path: string
  /** Runs recorded. */
  readonly runs: number
  /** The costliest first. */
  readonly operators: readonly OperatorTime[]
}

/**
 * A loaded model. It is made by {@link OnnxModule.load}; its facts stay readable after it is disposed.
 *
 * ```ts
 * await using module = await OnnxModule.load('model.onnx')
 * const { logits } = await module.run({ input_ids: [[101n, 7592n, 102n]] })
 * ```
 */
export declare class OnnxModule {
  protected constructor(...internal: never)

  /**
   * Loads a model on a thread of its own.
   * @throws TypeError | RangeError `ERR_SOURCE`, `ERR_OPTION`
   * @throws OnnxTuneError `ERR_MODEL_…`, `ERR_EXTERNAL_DATA_…`, `ERR_RUNTIME_…`, `ERR_CONFIG_ENTRY`,
   *   `ERR_PROVIDER_UNAVAILABLE`, and `ERR_IR_UNSUPPORTED`, `ERR_OPSET_UNSUPPORTED` or `ERR_OPERATOR_UNSUPPORTED` for
   *   what the runtime cannot run
   * @throws AbortError
   */
  static load(source: ModelSource, options?: LoadOptions): Promise<OnnxModule>

  readonly graphInfo: GraphInfo
  readonly device: 'cpu'
  readonly backend: BackendInfo

  /**
   * What runs the graph's nodes, read back from the runtime.
   * @throws OnnxTuneError `ERR_DISPOSED`
   */
  readonly placement: readonly Placement[]

  /**
   * Runs the model off the event loop, on one of the module's threads; calls are begun in their order.
   *
   * The event loop waits in two cases only. A model that is known to take less than 20 µs, by the average of recent runs,
   * is waited for inside the call, for at most 30 µs, if one of the threads is awake and no other result is awaited: to be
   * woken would cost more. And with `inline: 'auto'` a model that is known to take less than 100 µs runs on the calling
   * thread. Results and errors are the same.
   * @throws TypeError | RangeError `ERR_INPUT_…` with `input`, `expected` and `received`; `ERR_OUTPUT_UNKNOWN` and
   *   `ERR_INTO` with `output`; `ERR_OPTION`
   * @throws OnnxTuneError `ERR_RUN_FAILED`, `ERR_INTO` when an array has another length than its output,
   *   `ERR_OUTPUT_UNREADABLE`, `ERR_QUEUE_FULL` when too many calls wait, `ERR_TIMEOUT`, `ERR_DISPOSED`
   * @throws AbortError
   */
  run<O extends { [K in keyof O]: OutputValue } = Outputs>(inputs: Inputs, options?: RunOptions): Promise<O>

  /**
   * Runs the model on the calling thread, past the queue, and holds the event loop meanwhile. Throws what `run` rejects
   * with.
   */
  runSync<O extends { [K in keyof O]: OutputValue } = Outputs>(inputs: Inputs, options?: RunSyncOptions): O

  /**
   * Runs the model once on zeros, as `run` does, so that the first real call is not the slow one.
   * @param shapes by the inputs' names; a dimension that is neither given nor known is 1
   * @throws TypeError | RangeError `ERR_OPTION`, and what `run` gives
   */
  warmup(shapes?: Readonly<Record<string, readonly number[]>>): Promise<void>

  /**
   * Ends `profiling` and sums the trace up, on a thread of its own; null where it was off or has ended. A module that is
   * disposed before writes its trace all the same.
   * @throws OnnxTuneError `ERR_PROFILE` when the trace could not be written or read, `ERR_DISPOSED`
   */
  endProfiling(): Promise<Profile | null>

  /** Takes no more runs; settles when those that were accepted have ended and the memory is freed. May be repeated. */
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

// ---------------------------------------------------------------------------------------------------------------------
// Inspecting

/** What `inspect` and `tune` work on: a module, or a model that is loaded for it and disposed afterwards. */
export type Target = OnnxModule | ModelSource

/**
 * Samples, each being the inputs of one call. A value whose rank is one below the graph's is a single item without its
 * batch dimension. They are copied.
 */
export type Dataset = (Iterable<Inputs | PromiseLike<Inputs>> | AsyncIterable<Inputs>) &
  // Strings and typed arrays are iterables of numbers too, but one sample and no dataset.
  object & { readonly BYTES_PER_ELEMENT?: never }

/** Where a long call stands. No result depends on it, and a busy event loop may miss some. */
export interface Progress {
  /** `warmup` and `measure` of `inspect`; `record`, `build`, `measure` and `choose` of `tune`. More may come. */
  readonly phase: 'warmup' | 'record' | 'build' | 'measure' | 'choose'
  /** The candidate's name; empty where there is none. */
  readonly candidate: string
  /** Of the phase's steps; both 0 where they cannot be counted. */
  readonly index: number
  readonly total: number
  /** Of the whole call, from 0 to 1. */
  readonly fraction: number
  /** One line for people. */
  readonly message: string
  /** Milliseconds of the time budget that are left; 0 for `inspect`, which has none. */
  readonly etaMs: number
}

/** Options of {@link inspect}. */
export interface InspectOptions extends CancelOptions {
  /** Timed calls; 10 by default. They go round the dataset. */
  readonly iterations?: number | undefined
  /** Untimed calls before; 5 by default. */
  readonly warmup?: number | undefined
  /** What it throws ends the call, which rejects with it. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** What running a model on a dataset showed. Times are in milliseconds. */
export interface ModuleReport {
  /** The model's path; `model` for one in memory. */
  readonly name: string
  /** Timed calls. */
  readonly calls: number
  readonly totalMs: number
  readonly meanMs: number
  readonly p50Ms: number
  readonly p90Ms: number
  readonly p99Ms: number
  /** Of the time spent in all modules, from 0 to 1. */
  readonly share: number
  /** One entry for each distinct set of inputs, in order of appearance: `['float32[1,3,48,320]']`. */
  readonly inputTypes: readonly (readonly string[])[]
  readonly outputTypes: readonly (readonly string[])[]
  readonly onnxGraph: GraphInfo
}

/** {@link InspectReport} as JSON has it. */
export interface InspectReportJson {
  /** Untimed calls. */
  readonly warmup: number
  /** The whole of it, warm-up included. */
  readonly elapsedMs: number
  readonly modules: readonly ModuleReport[]
}

/** What `inspect` found. */
export declare class InspectReport {
  private constructor(...internal: never)
  readonly modules: readonly ModuleReport[]
  /** `modules`, as AITune asks for them. */
  getModules(): readonly ModuleReport[]
  /** A table for people. */
  describe(): string
  toJSON(): InspectReportJson
}

/**
 * Times a model on a dataset, one call after another.
 *
 * ```ts
 * const report = await inspect('model.onnx', samples, { iterations: 100 })
 * console.log(report.describe())
 * ```
 * @throws TypeError | RangeError `ERR_OPTION`, `ERR_SOURCE`, `ERR_DATASET` for what is no dataset
 * @throws OnnxTuneError `ERR_DATASET_EMPTY`, `ERR_DATASET_SAMPLE` (its `cause` is the `ERR_INPUT_…`),
 *   `ERR_DATASET_SHAPE`, `ERR_DATASET` when the dataset throws, and what `load` and `run` give
 * @throws AbortError
 */
export declare function inspect(target: Target, dataset: Dataset, options?: InspectOptions): Promise<InspectReport>

// ---------------------------------------------------------------------------------------------------------------------
// Tuning

/** ONNX Runtime on the CPU. What is given stays as it is; what is left out is the tuner's to choose. */
export declare class ONNXRuntimeBackend {
  /** @throws TypeError | RangeError `ERR_OPTION` */
  constructor(options?: SessionSettings)
  readonly options: SessionSettings
}

/** One backend against the untuned baseline. Settings that are left out take the defaults of {@link LoadOptions}. */
export declare class OneBackendStrategy {
  /** @throws TypeError `ERR_OPTION` */
  constructor(backend: ONNXRuntimeBackend)
  readonly backend: ONNXRuntimeBackend
  toJSON(): { name: 'OneBackendStrategy'; backend: SessionSettings }
}

/** Options of {@link MaxThroughputStrategy}. */
export interface MaxThroughputOptions {
  /** `[new ONNXRuntimeBackend()]` by default. */
  readonly backends?: readonly ONNXRuntimeBackend[] | undefined
}

/** Searches the backends' settings for the most items per second at the load's concurrency. */
export declare class MaxThroughputStrategy {
  /** @throws TypeError `ERR_OPTION` */
  constructor(options?: MaxThroughputOptions)
  readonly backends: readonly ONNXRuntimeBackend[]
  toJSON(): { name: 'MaxThroughputStrategy'; backends: SessionSettings[] }
}

/** What is tried, and which of it wins. */
export type Strategy = OneBackendStrategy | MaxThroughputStrategy

/**
 * Whether the winner must beat the untuned baseline.
 *
 * - `enabled`: the baseline stays unless the winner is faster by at least 1 % and beyond noise.
 * - `diagnostic`: the comparison is reported; the fastest candidate is taken all the same.
 * - `disabled`: the fastest candidate is taken and not held against the baseline.
 */
export type PerformanceValidation = 'enabled' | 'diagnostic' | 'disabled'

/**
 * How far an element of a floating-point output may be from the baseline's: `atol * max|b| + rtol * |b|`, where `b` is
 * the baseline's output; `atol` is relative to its largest magnitude. All other types must be equal.
 */
export interface AccuracyLimits {
  /** 0 or more. By default 1e-6 for float64, 1e-3 for float32, 1e-2 for float16, 4e-2 for bfloat16. */
  readonly rtol?: number | undefined
  /** 0 or more. By default 1e-9 for float64, 1e-4 for float32, 1e-3 for float16, 8e-3 for bfloat16. */
  readonly atol?: number | undefined
}

/** The load that the tuned module is meant for. */
export interface Load {
  /** Clients that each call again once they have their answer, from 1 to 4096; the usable processors by default. */
  readonly concurrency?: number | undefined
}

/** Options of {@link tune}. */
export interface TuneOptions extends CancelOptions {
  /** `new MaxThroughputStrategy()` by default. */
  readonly strategy?: Strategy | undefined
  /**
   * Sizes of the batches to make of single items. Every candidate is verified on all and timed on the largest. By
   * default 1 and 2, or 1 where the graph's batch is fixed. Leave it out when the samples are batches already.
   */
  readonly batchSizes?: readonly number[] | undefined
  /** Batches made of each size; 16 by default, spread over the samples. */
  readonly maxBatchesPerBatchSize?: number | undefined
  /** Samples taken from the dataset; 1024 by default. */
  readonly maxSamples?: number | undefined
  readonly accuracy?: AccuracyLimits | undefined
  /** `enabled` by default. */
  readonly performanceValidation?: PerformanceValidation | undefined
  /** Milliseconds after which no more is built or timed; 30,000 by default. What runs then is finished. */
  readonly budgetMs?: number | undefined
  readonly load?: Load | undefined
  /** Seed of the order of measurements and of the intervals; 1 by default. */
  readonly seed?: number | undefined
  /** What it throws ends the call, which rejects with it. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/**
 * What became of a candidate.
 *
 * - `OK`: right, and chosen or not measurably slower than the chosen one.
 * - `SLOWER`: right, and measurably slower.
 * - `INACCURATE`: its outputs differ from the baseline's.
 * - `FAILED`: it could not be built or run.
 * - `SKIPPED`: the time budget was spent before.
 */
export type CandidateStatus = 'OK' | 'FAILED' | 'SKIPPED' | 'SLOWER' | 'INACCURATE'

/** The worst over all outputs compared. */
export interface Accuracy {
  readonly maxAbsError: number
  /** Over elements whose baseline is not zero. */
  readonly maxRelError: number
  /** Cosine similarity of the output least alike. */
  readonly minCosine: number
}

/** A quantity with its 95 % interval. */
export interface Interval {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** How fast a candidate was, each call being one batch. */
export interface Timing {
  readonly calls: number
  readonly rounds: number
  /** Latency of a call; the percentiles are over all calls. */
  readonly medianMs: number
  readonly p90Ms: number
  readonly p99Ms: number
  /** Items per second, the median of the rounds. */
  readonly throughput: number
  /** Throughput over the baseline's in the same rounds; above 1 is faster. */
  readonly ratio: Interval
}

/** One way of running the model, and what was found of it. */
export interface CandidateReport {
  /** One line for people: `onnxruntime cpu, 2 threads, 1 caller, graph all`. */
  readonly name: string
  readonly settings: Settings
  readonly status: CandidateStatus
  readonly reason: string
  /** Null when it was not built. */
  readonly buildMs: number | null
  /** Null when it was not compared; the baseline never is. */
  readonly accuracy: Accuracy | null
  /** Null when it was not timed. */
  readonly timing: Timing | null
}

/** The machine that a tune ran on. */
export interface Machine {
  /** As Rust names it: `linux`, `macos`, `windows`. */
  readonly os: string
  /** As Rust names it: `x86_64`, `aarch64`. */
  readonly arch: string
  /** Threads that the process may keep busy. */
  readonly threads: number
  /** Instruction sets that decide which kernels ONNX Runtime picks: `avx2`, `avx512vnni`, … */
  readonly cpuFeatures: readonly string[]
  /** Version of ONNX Runtime. */
  readonly onnxruntime: string
  /** Version of this package. */
  readonly onnxtune: string
}

/** Settings of a backend as reports keep them; null was the tuner's to choose. */
export interface BackendPins {
  readonly threads: number | null
  readonly callers: number | null
  readonly spinning: boolean | null
  readonly graphOptimization: GraphOptimization | null
  readonly executionMode: ExecutionMode | null
  readonly interOpThreads: number | null
  readonly flushDenormals: boolean | null
  readonly memoryArena: boolean | null
  readonly memoryPattern: boolean | null
  readonly dimensionOverrides: Readonly<Record<string, number>> | null
  readonly configEntries: Readonly<Record<string, string>> | null
}

/** A strategy as reports keep it. */
export type StrategyReport =
  | { readonly name: 'OneBackendStrategy'; readonly backend: BackendPins }
  | { readonly name: 'MaxThroughputStrategy'; readonly backends: readonly BackendPins[] }

/** What a tune ran. */
export interface WorkloadReport {
  readonly samples: number
  /** All of them were verified. */
  readonly batchSizes: readonly number[]
  /** The one that was timed. */
  readonly measuredBatchSize: number
  readonly concurrency: number
}

/** {@link TuneReport} as JSON has it. Times are in milliseconds. */
export interface TuneReportJson {
  /** Raised when a reader of older reports would misread a newer one. */
  readonly schemaVersion: 1
  readonly model: {
    /** As given; null for a model in memory. */
    readonly path: string | null
    /** Of the model and its external data. */
    readonly sha256: string
  }
  readonly machine: Machine
  readonly strategy: StrategyReport
  readonly performanceValidation: PerformanceValidation
  /** Null for the default. */
  readonly accuracyLimits: { readonly rtol: number | null; readonly atol: number | null }
  readonly workload: WorkloadReport
  /** The baseline first, then in the order tried. */
  readonly candidates: readonly CandidateReport[]
  /** Index into `candidates`. */
  readonly winner: number
  readonly verdict: string
  readonly seed: number
  readonly budgetMs: number
  readonly elapsedMs: number
}

/** All that a tune did and found. */
export declare class TuneReport {
  private constructor(...internal: never)
  /** The baseline first, then in the order tried. */
  readonly candidates: readonly CandidateReport[]
  /** Index of the winner in `candidates`. */
  readonly winner: number
  /** Why it won, in one line: `1.84x the baseline (1.79 to 1.90)`. */
  readonly verdict: string
  /** A table of the candidates, and the verdict, for people. */
  describe(): string
  toJSON(): TuneReportJson
}

/**
 * The result of a tune; runs like an {@link OnnxModule}.
 *
 * ```ts
 * await tuned.save('model.tuned')
 * const later = await TunedModule.load('model.tuned')
 * ```
 */
export declare class TunedModule extends OnnxModule {
  private constructor(...internal: never)

  /**
   * Loads a checkpoint; the source model is not needed.
   * @throws TypeError | RangeError `ERR_SOURCE`, `ERR_OPTION`
   * @throws OnnxTuneError `ERR_CHECKPOINT_NOT_FOUND`, `ERR_CHECKPOINT_UNREADABLE`, `ERR_CHECKPOINT_INVALID` for another
   *   kind of file, `ERR_CHECKPOINT_VERSION` for one of a newer version, `ERR_CHECKPOINT_DAMAGED`, and what
   *   {@link OnnxModule.load} gives
   * @throws AbortError
   */
  static load(path: string | URL, options?: CancelOptions): Promise<TunedModule>

  readonly report: TuneReport
  /** The winning candidate. */
  readonly candidate: CandidateReport

  /**
   * Writes model, settings and report to one file.
   * @throws TypeError | RangeError `ERR_SOURCE`, `ERR_OPTION`
   * @throws OnnxTuneError `ERR_CHECKPOINT_UNWRITABLE`, `ERR_DISPOSED`, `ERR_MODEL_CHANGED` when the model's file is no
   *   longer the one that was tuned
   * @throws AbortError
   */
  save(path: string | URL, options?: CancelOptions): Promise<void>
}

/**
 * Finds the fastest right way of running a model on this machine. Each candidate's outputs are compared with those of
 * the untuned model before it is timed; the untuned model stays unless a candidate is faster beyond noise.
 *
 * ```ts
 * const tuned = await tune('model.onnx', samples, { budgetMs: 60_000, load: { concurrency: 8 } })
 * console.log(tuned.report.describe())
 * ```
 * @throws TypeError | RangeError `ERR_OPTION`, `ERR_SOURCE`, `ERR_DATASET` for what is no dataset
 * @throws OnnxTuneError `ERR_DATASET_EMPTY`, `ERR_DATASET_SAMPLE` (its `cause` is the `ERR_INPUT_…`),
 *   `ERR_DATASET_SHAPE`, `ERR_DATASET_BATCH`, `ERR_DATASET` when the dataset throws, `ERR_BATCH_FIXED`,
 *   `ERR_TUNE_BASELINE` when the untuned model fails, `ERR_TUNE_NO_CANDIDATE` when all others do, and what `load` gives
 * @throws AbortError
 */
export declare function tune(target: Target, dataset: Dataset, options?: TuneOptions): Promise<TunedModule>

// ---------------------------------------------------------------------------------------------------------------------
// The runtime

/** Names the ONNX Runtime library to load, instead of the one that comes with the package. */
export interface RuntimeOptions {
  /** A path or `file:` URL. */
  readonly libraryPath: string | URL
}

/**
 * Chooses the ONNX Runtime library, once and before the first model is loaded.
 * @throws TypeError `ERR_OPTION`, `ERR_SOURCE`
 * @throws OnnxTuneError `ERR_RUNTIME_ALREADY_LOADED`; other faults show when it is loaded
 */
export declare function setRuntime(options: RuntimeOptions): void

/** What runs here. */
export interface Versions {
  readonly onnxtune: string
  readonly onnxruntime: string
  /** Path of the ONNX Runtime library. */
  readonly library: string
}

/**
 * Loads the runtime if it isn't loaded yet, and tells what it is.
 * @throws OnnxTuneError `ERR_RUNTIME_…`
 */
export declare function versions(): Promise<Versions>

/** How much a log line matters, the most first. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** What this package or ONNX Runtime has to say. */
export interface LogLine {
  readonly level: LogLevel
  /** What it comes from: `onnxruntime` or a part of this package. */
  readonly target: string
  readonly message: string
}

/** Options of {@link setLogger}. */
export interface LogOptions {
  /** The least level that is told; `'warn'` by default. */
  readonly level?: LogLevel | undefined
}

/**
 * Sends log lines to a callback, on the event loop; null ends it. There is one callback in a process, and by default none:
 * nothing is printed. Lines that come faster than the event loop takes them may be lost. What the callback throws is an
 * uncaught exception. Without a callback `ONNXTUNE_LOG=warn` (or another level) in the environment prints to stderr.
 * @throws TypeError `ERR_OPTION`
 */
export declare function setLogger(callback: ((line: LogLine) => void) | null, options?: LogOptions): void

// ---------------------------------------------------------------------------------------------------------------------
// Errors

/**
 * Every code that an error of this package has. Faults of an argument are TypeErrors and RangeErrors (`ERR_CONSTRUCTOR`
 * and `ERR_DATASET_…` aside), `ABORT_ERR` is an {@link AbortError}, all else is an {@link OnnxTuneError}.
 */
export type OnnxTuneErrorCode =
  | 'ABORT_ERR'
  | 'ERR_BATCH_FIXED'
  | 'ERR_CHECKPOINT_DAMAGED'
  | 'ERR_CHECKPOINT_INVALID'
  | 'ERR_CHECKPOINT_NOT_FOUND'
  | 'ERR_CHECKPOINT_UNREADABLE'
  | 'ERR_CHECKPOINT_UNWRITABLE'
  | 'ERR_CHECKPOINT_VERSION'
  | 'ERR_CONFIG_ENTRY'
  | 'ERR_CONSTRUCTOR'
  | 'ERR_DATASET'
  | 'ERR_DATASET_BATCH'
  | 'ERR_DATASET_EMPTY'
  | 'ERR_DATASET_SAMPLE'
  | 'ERR_DATASET_SHAPE'
  | 'ERR_DIMENSION_OVERRIDE'
  | 'ERR_DISPOSED'
  | 'ERR_EXTERNAL_DATA_INVALID'
  | 'ERR_EXTERNAL_DATA_MISSING'
  | 'ERR_EXTERNAL_DATA_PATH'
  | 'ERR_EXTERNAL_DATA_TOO_SHORT'
  | 'ERR_INPUT_COUNT'
  | 'ERR_INPUT_LENGTH'
  | 'ERR_INPUT_MISSING'
  | 'ERR_INPUT_SHAPE'
  | 'ERR_INPUT_TYPE'
  | 'ERR_INPUT_UNKNOWN'
  | 'ERR_INPUT_VALUE'
  | 'ERR_INTERNAL'
  | 'ERR_INTO'
  | 'ERR_IR_UNSUPPORTED'
  | 'ERR_MODEL_CHANGED'
  | 'ERR_MODEL_EMPTY'
  | 'ERR_MODEL_INVALID'
  | 'ERR_MODEL_LFS_POINTER'
  | 'ERR_MODEL_LOAD'
  | 'ERR_MODEL_NOT_A_FILE'
  | 'ERR_MODEL_NOT_FOUND'
  | 'ERR_MODEL_NO_GRAPH'
  | 'ERR_MODEL_ORT_FORMAT'
  | 'ERR_MODEL_TRUNCATED'
  | 'ERR_MODEL_UNREADABLE'
  | 'ERR_OPERATOR_UNSUPPORTED'
  | 'ERR_OPSET_UNSUPPORTED'
  | 'ERR_OPTION'
  | 'ERR_OUTPUT_UNKNOWN'
  | 'ERR_OUTPUT_UNREADABLE'
  | 'ERR_PROFILE'
  | 'ERR_PROVIDER_UNAVAILABLE'
  | 'ERR_QUEUE_FULL'
  | 'ERR_RUNTIME_ALREADY_LOADED'
  | 'ERR_RUNTIME_ARCHITECTURE'
  | 'ERR_RUNTIME_INVALID'
  | 'ERR_RUNTIME_NOT_FOUND'
  | 'ERR_RUNTIME_START'
  | 'ERR_RUNTIME_VERSION'
  | 'ERR_RUN_FAILED'
  | 'ERR_SOURCE'
  | 'ERR_TENSOR'
  | 'ERR_THREAD'
  | 'ERR_TIMEOUT'
  | 'ERR_TUNE_BASELINE'
  | 'ERR_TUNE_NO_CANDIDATE'

/** What is known of an error besides its message; what does not apply is left out. */
export interface ErrorDetails {
  readonly code: OnnxTuneErrorCode
  /** Name of the graph's input concerned. */
  readonly input?: string | undefined
  /** Name of the graph's output concerned. */
  readonly output?: string | undefined
  readonly expected?: unknown
  readonly received?: unknown
  /** What to do about it; the message ends with it. */
  readonly hint?: string | undefined
  /** Path of the ONNX Runtime library concerned. */
  readonly library?: string | undefined
  readonly cause?: unknown
}

/** A TypeError or RangeError of this package, which says what is wrong with an argument. */
export type ArgumentError = (TypeError | RangeError) & ErrorDetails

/**
 * Anything that goes wrong besides faults of an argument and cancellation.
 *
 * ```ts
 * if (error instanceof OnnxTuneError && error.code === 'ERR_QUEUE_FULL') retry()
 * ```
 */
export declare class OnnxTuneError extends Error implements ErrorDetails {
  constructor(message: string, details: ErrorDetails)
  readonly name: 'OnnxTuneError'
  readonly code: OnnxTuneErrorCode
  /** Name of the graph's input concerned. */
  readonly input?: string
  /** Name of the graph's output concerned. */
  readonly output?: string
  readonly expected?: unknown
  readonly received?: unknown
  /** What to do about it; the message ends with it. */
  readonly hint?: string
  /** Path of the ONNX Runtime library concerned. */
  readonly library?: string
}

/** A call was cancelled; its `cause` is the signal's reason. */
export declare class AbortError extends Error {
  constructor(reason?: unknown)
  readonly name: 'AbortError'
  readonly code: 'ABORT_ERR'
}
