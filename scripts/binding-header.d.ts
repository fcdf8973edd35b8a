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
