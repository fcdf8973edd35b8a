/* eslint-disable */
/** What crosses the binding for one input: elements in row-major order, strings, or a structure (see `NativeStructure`). */
export type NativeData = ArrayBufferView | string[] | NativeStructure
/** A value that is no plain tensor of the declared type. */
export type NativeStructure =
  | [type: string, data: ArrayBufferView | string[], dims: readonly number[]]
  | ['sequence', NativeStructure[]]
  | ['map', NativeStructure, NativeStructure]
  | null
/** Flat: `data, rank, dim…` for each output; rank -1 where the data is a `NativeStructure`. */
export type NativeOutputs = (ArrayBufferView | string[] | NativeStructure | number | undefined)[]
/**
 * Runs on the calling thread: first the inputs, then arrays for the outputs, where there are any. The dimensions of the
 * outputs come back in `dims`, flat, if they fit; then the result is the data of each alone, or nothing where all of it
 * was written to arrays given.
 */
export type SyncRunner = (
  dims: Float64Array,
  outputs: number[] | undefined,
  ...values: (NativeData | undefined)[]
) => NativeOutputs | undefined

/**
 * Which binding artifact the generated loader actually loaded: `'native'` for
 * a native addon, otherwise the `platformArchABI` of the WASI flavor. Every
 * flavor napi-rs can build is listed, because `NAPI_RS_NATIVE_LIBRARY_PATH`
 * can point the loader at a WASI artifact this package does not build itself.
 */
export declare const __napiBindingTarget: 'native' | 'wasm32-wasi' | 'wasm32-wasip1'

/** Cancels the call it was given to. */
export declare class Cancel {
  constructor()
  cancel(): void
}

/** Samples copied out of JavaScript, one by one. */
export declare class NativeDataset {
  constructor()
  /** Adds a sample: parallel arrays in the order of the module's inputs. */
  add(module: NativeModule, data: NativeData[], dims: Float64Array): void
}

/** A loaded model with the threads that serve it, and the report of its tune if it was tuned. */
export declare class NativeModule {
  /** `GraphInfo` as JSON. */
  get graphInfo(): string
  /** `BackendInfo` as JSON. */
  get backend(): string
  /** The report of the tune as JSON. */
  get report(): string | null
  /** Queues a run; see `read_inputs` for the arrays. `outputs` selects by index, `into` holds arrays to write to. */
  run(data: NativeData[], dims: Float64Array, outputs?: Array<number> | undefined | null, into?: (ArrayBufferView | undefined)[] | null, cancel?: Cancel | undefined | null): Promise<NativeOutputs>
  /** A function that runs on the calling thread. */
  syncRunner(): SyncRunner
  /** Which provider runs how many nodes, as JSON. */
  placement(): string
  /** Ends profiling; gives the path of the trace and its summary as JSON, or null where profiling is off. */
  endProfiling(): Promise<string | null>
  /** Takes no more runs; settles when those that were accepted have ended and the session is freed. */
  dispose(): Promise<void>
  /** Writes a tuned module to one file. */
  save(path: string, cancel?: Cancel | undefined | null): Promise<void>
}

/**
 * Ends all work of this environment and waits for it a while. To be called when the process exits: Node closes
 * environments of workers only, and the runtime's globals go away under the threads that still use them.
 */
export declare function endWork(): void

/** Times the module on a dataset; `options` is JSON, the result `InspectReport` as JSON, events the number of calls made. */
export declare function inspect(module: NativeModule, dataset: NativeDataset, options: string, progress: (event: string) => void, cancel?: Cancel | undefined | null): Promise<string>

/** Loads a checkpoint. */
export declare function loadCheckpoint(path: string, cancel?: Cancel | undefined | null): Promise<NativeModule>

/** Loads a model; `options` is JSON of the settings given, the rest takes its defaults. */
export declare function loadModule(path: string | undefined | null, bytes: Uint8Array | null, external: [string, Uint8Array][] | null, folder: string | undefined | null, options: string, cancel?: Cancel | undefined | null): Promise<NativeModule>

/** Reads the graph without a session; gives `GraphInfo` as JSON. */
export declare function readGraph(path?: string | undefined | null, bytes?: Uint8Array | null, external?: [string, Uint8Array][] | null, folder?: string | undefined | null): Promise<string>

/** Sends log lines of this level and above to a callback, as JSON; none ends it. */
export declare function setLogger(level: string, callback?: ((line: string) => void) | null): void

/** Names the ONNX Runtime library to load. */
export declare function setRuntime(libraryPath: string): void

/** Tunes the module's model on a dataset; `options` is JSON, events are `Progress` as JSON. */
export declare function tune(module: NativeModule, dataset: NativeDataset, options: string, progress: (event: string) => void, cancel?: Cancel | undefined | null): Promise<NativeModule>

/** Loads the runtime if it isn't loaded yet; gives its facts as JSON. */
export declare function versions(): Promise<string>
