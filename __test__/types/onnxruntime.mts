// How far tensors move between this package and onnxruntime-common.

/// <reference lib="dom" />

import { expectTypeOf } from 'expect-type'
import * as ort from 'onnxruntime-common'
import { Tensor, type DType, type Inputs, type Outputs, type OnnxModule } from 'onnxtune'

declare const module: OnnxModule

// Theirs are inputs here.
const theirs = new ort.Tensor('float32', new Float32Array(6), [2, 3])
const named: Inputs = { x: theirs, y: new ort.Tensor('int64', [1n, 2n]), z: theirs as ort.Tensor }
void module.run(named)
void module.run(theirs)
void module.run([theirs, theirs])
void module.run({ sequence: [theirs, theirs] }, { into: { y: theirs } })
expectTypeOf<ort.Tensor.Type>().toExtend<DType>()

// Ours have what code reads of theirs. (Theirs have textures, GPU buffers and images besides.)
type Read<T extends ort.Tensor.Type> = Pick<
  ort.TypedTensor<T>,
  'type' | 'dims' | 'data' | 'size' | 'location' | 'getData' | 'dispose'
>
// Their int4 is an Int8Array, their uint8 is never clamped.
type Same = Exclude<ort.Tensor.Type, 'int4' | 'uint8'>
type Movable = { [T in Same]: Tensor<T> extends Read<T> ? never : T }[Same]
expectTypeOf<Movable>().toEqualTypeOf<never>()
const read: Read<'float32'> = new Tensor(new Float32Array(6), [2, 3])
void read

// So do outputs, in code that was written for theirs.
const first = (outputs: Outputs) => outputs.y
expectTypeOf(first).returns.toHaveProperty('data')
const sum = ({ data }: Pick<ort.TypedTensor<'float32'>, 'data'>) => data.reduce((total, value) => total + value, 0)
const { y } = await module.run(named)
if (y.type === 'float32') void sum(y)

// The same calls make the same tensors.
expectTypeOf(new Tensor('int64', new BigInt64Array(2), [2]).data).toEqualTypeOf(
  new ort.Tensor('int64', new BigInt64Array(2), [2]).data
)
expectTypeOf(new Tensor(new Float32Array(2)).data).toEqualTypeOf(new ort.Tensor(new Float32Array(2)).data)

// @ts-expect-error theirs cannot be taken for ours: they may lie elsewhere than on the CPU
const ours: Tensor = theirs as ort.Tensor
void ours
