import { expectTypeOf } from 'expect-type'
import { Tensor, type DType, type TypedTensor } from 'onnxtune'

// The type is that of the array, or the one named.
expectTypeOf(new Tensor(new Float32Array(6), [2, 3])).toEqualTypeOf<Tensor<'float32'>>()
expectTypeOf(new Tensor(new BigInt64Array(6))).toEqualTypeOf<Tensor<'int64'>>()
expectTypeOf(new Tensor(Buffer.alloc(6))).toEqualTypeOf<Tensor<'uint8'>>()
expectTypeOf(new Tensor(new Uint8ClampedArray(6))).toEqualTypeOf<Tensor<'uint8'>>()
expectTypeOf(new Tensor(new Uint16Array(6))).toEqualTypeOf<Tensor<'uint16'>>()
expectTypeOf(new Tensor(['a', 'b'])).toEqualTypeOf<Tensor<'string'>>()
expectTypeOf(new Tensor('bfloat16', new Uint16Array(6), [6])).toEqualTypeOf<Tensor<'bfloat16'>>()
expectTypeOf(new Tensor('string', ['a'] as readonly string[])).toEqualTypeOf<Tensor<'string'>>()
expectTypeOf<Tensor<'float32'>>().toEqualTypeOf<TypedTensor<'float32'>>()

const floats = new Tensor('float32', new Float32Array(6), [2, 3])
expectTypeOf(floats.data).toEqualTypeOf<Float32Array>()
expectTypeOf(floats.dims).toEqualTypeOf<readonly number[]>()
expectTypeOf(floats.size).toEqualTypeOf<number>()
expectTypeOf(floats.location).toEqualTypeOf<'cpu'>()
expectTypeOf(floats.reshape([6])).toEqualTypeOf<Tensor<'float32'>>()
expectTypeOf(await floats.getData()).toEqualTypeOf<Float32Array>()

// Comparing `type` tells `data`.
declare const any: Tensor
expectTypeOf(any.type).toEqualTypeOf<DType>()
if (any.type === 'int64') expectTypeOf(any.data).toEqualTypeOf<BigInt64Array>()
if (any.type === 'string') expectTypeOf(any.data).toEqualTypeOf<string[]>()
declare const unknown: unknown
if (unknown instanceof Tensor) expectTypeOf(unknown.type).toEqualTypeOf<DType>()
expectTypeOf(floats).toExtend<Tensor>()

const rows = new Tensor('int64', new BigInt64Array(6), [2, 3]).toArray()
if (typeof rows !== 'bigint') expectTypeOf(rows[0]).toExtend<bigint | readonly unknown[]>()

// @ts-expect-error another type of array
void new Tensor('float32', new Float64Array(6))
// @ts-expect-error there is no such type
void new Tensor('float', new Float32Array(6))
// @ts-expect-error plain arrays of numbers do not tell their type
void new Tensor([1, 2, 3])
// @ts-expect-error dims are numbers
void new Tensor(new Float32Array(6), ['batch', 3])
// @ts-expect-error tensors are frozen
floats.data = new Float32Array(6)
// @ts-expect-error tensors are frozen
floats.dims.push(1)
// @ts-expect-error the type has to be looked at first
any.data satisfies Float32Array
