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
/** Runs on the calling thread; see `NativeModule.run`. */
export type SyncRunner = (
  data: NativeData[],
  dims: Float64Array,
  outputs: number[] | undefined,
  into: (ArrayBufferView | undefined)[] | undefined
) => NativeOutputs
