import { expectTypeOf } from 'expect-type'
import { readGraph, type Dim, type DType, type GraphInfo, type Precision } from 'onnxtune'

const graph = await readGraph('model.onnx')
expectTypeOf(graph).toEqualTypeOf<GraphInfo>()
expectTypeOf(graph.inputs[0].shape).toEqualTypeOf<readonly Dim[] | null>()
expectTypeOf(graph.inputShapes).toEqualTypeOf<readonly (readonly (number | string | null)[] | null)[]>()
expectTypeOf(graph.inputs[0].dtype).toEqualTypeOf<DType | null>()
expectTypeOf(graph.precision).toEqualTypeOf<Precision | null>()
expectTypeOf(graph.opsets['ai.onnx.ml']).toEqualTypeOf<number>()

// Every kind of source.
const { signal } = new AbortController()
void readGraph(new URL('file:///model.onnx'))
void readGraph(Buffer.alloc(8))
void readGraph(new ArrayBuffer(8), { signal, externalData: { 'weights.bin': new Uint8Array(8) } })
// Undefined stands for left out, whatever the compiler's exactOptionalPropertyTypes.
void readGraph('model.onnx', { signal: undefined, externalData: undefined })

// @ts-expect-error a number is no source
void readGraph(5)
// @ts-expect-error a slip in an option's name
void readGraph('model.onnx', { external: {} })
void readGraph(new Uint8Array(8), { externalData: '/models' })
// @ts-expect-error external data are bytes
void readGraph(new Uint8Array(8), { externalData: { 'weights.bin': 'weights.bin' } })
// @ts-expect-error facts are read only
graph.inputNames.push('x')
// @ts-expect-error facts are read only
graph.inputs[0].name = 'x'
// @ts-expect-error null has to be looked at
graph.inputs[0].shape.length
