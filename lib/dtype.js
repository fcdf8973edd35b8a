'use strict'

// Element types: which typed array holds them. float16 comes as Float16Array where the engine has it; bfloat16 and the
// types under 16 bits that JavaScript lacks come as their bits in Uint16Array and Uint8Array (sub-byte ones packed).

/** @type {any} */
const NativeFloat16Array = /** @type {any} */ (globalThis).Float16Array

/** @typedef {{ array: any, accepts: readonly string[], perElement: number }} Storage */

/** @type {Record<string, Storage>} */
const STORAGE = {
  float32: { array: Float32Array, accepts: ['Float32Array'], perElement: 1 },
  float64: { array: Float64Array, accepts: ['Float64Array'], perElement: 1 },
  float16: { array: NativeFloat16Array ?? Uint16Array, accepts: ['Float16Array', 'Uint16Array'], perElement: 1 },
  bfloat16: { array: Uint16Array, accepts: ['Uint16Array'], perElement: 1 },
  int8: { array: Int8Array, accepts: ['Int8Array'], perElement: 1 },
  int16: { array: Int16Array, accepts: ['Int16Array'], perElement: 1 },
  int32: { array: Int32Array, accepts: ['Int32Array'], perElement: 1 },
  int64: { array: BigInt64Array, accepts: ['BigInt64Array'], perElement: 1 },
  uint8: { array: Uint8Array, accepts: ['Uint8Array', 'Uint8ClampedArray'], perElement: 1 },
  uint16: { array: Uint16Array, accepts: ['Uint16Array'], perElement: 1 },
  uint32: { array: Uint32Array, accepts: ['Uint32Array'], perElement: 1 },
  uint64: { array: BigUint64Array, accepts: ['BigUint64Array'], perElement: 1 },
  bool: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 },
  complex64: { array: Float32Array, accepts: ['Float32Array'], perElement: 2 },
  complex128: { array: Float64Array, accepts: ['Float64Array'], perElement: 2 },
  float8e4m3fn: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 },
  float8e4m3fnuz: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 },
  float8e5m2: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 },
  float8e5m2fnuz: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 },
  float8e8m0: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 },
  uint4: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 / 2 },
  int4: { array: Uint8Array, accepts: ['Uint8Array', 'Int8Array'], perElement: 1 / 2 },
  float4e2m1: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 / 2 },
  uint2: { array: Uint8Array, accepts: ['Uint8Array'], perElement: 1 / 4 },
  int2: { array: Uint8Array, accepts: ['Uint8Array', 'Int8Array'], perElement: 1 / 4 }
}

/** Which types a typed array holds when nobody says. @type {Record<string, string>} */
const NATURAL = {
  Float32Array: 'float32',
  Float64Array: 'float64',
  Float16Array: 'float16',
  Int8Array: 'int8',
  Int16Array: 'int16',
  Int32Array: 'int32',
  BigInt64Array: 'int64',
  Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8',
  Uint16Array: 'uint16',
  Uint32Array: 'uint32',
  BigUint64Array: 'uint64'
}

const tagOf = /** @type {() => string} */ (
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)?.get
)

/**
 * `'Float32Array'` and so on, for typed arrays of any realm; undefined for anything else.
 * @param {unknown} value @returns {string | undefined}
 */
function arrayKind(value) {
  return ArrayBuffer.isView(value) ? tagOf.call(value) : undefined
}

/**
 * The bits of a `Float16Array`, in the same memory; none of one whose buffer was given away, which no view can be made of.
 * @param {any} array
 */
function halfBits({ buffer, byteOffset, length }) {
  return length === 0 ? new Uint16Array(0) : new Uint16Array(buffer, byteOffset, length)
}

/** Entries of the typed array (strings: of the array) that a tensor of `count` elements has. @param {string} dtype @param {number} count */
function storedLength(dtype, count) {
  return dtype === 'string' ? count : Math.ceil(count * STORAGE[dtype].perElement)
}

module.exports = { NATURAL, STORAGE, NativeFloat16Array, arrayKind, halfBits, storedLength }
