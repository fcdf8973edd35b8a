/* eslint-disable */
/** What crosses the binding for one tensor: elements in row-major order, or strings. */
export type NativeData = ArrayBufferView | string[]
/** One output: a tensor, a sequence, a map, or an absent optional. */
export type NativeOutput =
  | [type: string, data: ArrayBufferView | string[], dims: number[]]
  | ['sequence', NativeOutput[]]
  | ['map', NativeOutput, NativeOutput]
  | null
