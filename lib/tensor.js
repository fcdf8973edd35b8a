'use strict'

const { NATURAL, STORAGE, NativeFloat16Array, arrayKind, storedLength } = require('./dtype.js')
const { rangeError, typeError } = require('./errors.js')

/** @typedef {import('../index').DType} DType */

/**
 * A dense tensor on the CPU, of the shape that `onnxruntime-common` gives its own.
 * @template {DType} T
 */
class Tensor {
  /**
   * `new Tensor(type, data, dims)` or `new Tensor(typedArray | strings, dims)`; without `dims` it is one-dimensional.
   * @param {any} first @param {any} [second] @param {any} [third]
   */
  constructor(first, second, third) {
    const [type, data, dims] = /** @type {[T, any, any]} */ (
      typeof first === 'string' ? [first, second, third] : [naturalType(first), first, second]
    )
    check(type, data)
    this.type = type
    /** @type {import('../index').TensorDataMap[T]} */
    this.data = data
    /** @type {readonly number[]} */
    this.dims = dims ?? [data.length]
    const size = checkDims(this.dims)
    if (storedLength(type, size) !== data.length) {
      throw rangeError(`a ${type} tensor of dims [${this.dims}] has ${storedLength(type, size)} entries, not ${data.length}`, {
        code: 'ERR_TENSOR', expected: storedLength(type, size), received: data.length
      })
    }
    Object.freeze(this)
  }

  /** Number of elements. */
  get size() {
    return this.dims.reduce((product, dim) => product * dim, 1)
  }

  /** @type {'cpu'} */
  get location() {
    return 'cpu'
  }

  /** As `onnxruntime-common` has it. */
  async getData() {
    return this.data
  }

  /** The elements as nested arrays; a scalar as itself. @returns {any} */
  toArray() {
    if (storedLength(this.type, 64) !== 64) {
      throw typeError(`the elements of a ${this.type} tensor are packed or pairs; read data`, {
        code: 'ERR_TENSOR', received: this.type
      })
    }
    let offset = 0
    /** @param {number} axis @returns {any} */
    const nest = (axis) =>
      axis === this.dims.length ? this.data[offset++] : Array.from({ length: this.dims[axis] }, () => nest(axis + 1))
    return nest(0)
  }

  /** The same data under other dims. @param {readonly number[]} dims @returns {Tensor<T>} */
  reshape(dims) {
    return new Tensor(this.type, this.data, dims)
  }

  /** Nothing to free on the CPU; here so that code for both kinds runs. */
  dispose() {}
}

/** @param {any} data */
function naturalType(data) {
  const kind = arrayKind(data)
  if (kind !== undefined) return NATURAL[kind]
  if (Array.isArray(data) && typeof data[0] === 'boolean') return 'bool'
  return 'string'
}

/** @param {string} type @param {any} data */
function check(type, data) {
  const kind = arrayKind(data)
  const fits = type === 'string' ? Array.isArray(data) : kind !== undefined && STORAGE[type]?.accepts.includes(kind)
  if (fits || (type === 'bool' && Array.isArray(data))) return
  const known = type === 'string' || Object.hasOwn(STORAGE, type)
  throw typeError(known ? `a ${type} tensor cannot hold this data` : `there is no tensor type ${JSON.stringify(type)}`, {
    code: 'ERR_TENSOR',
    expected: known ? (STORAGE[type]?.accepts ?? ['string[]']) : Object.keys(STORAGE),
    received: known ? (kind ?? typeof data) : type
  })
}

/** The number of elements. @param {readonly number[]} dims @returns {number} */
function checkDims(dims) {
  if (!Array.isArray(dims)) throw typeError('dims must be an array', { code: 'ERR_TENSOR', expected: 'number[]', received: dims })
  const size = dims.reduce((product, dim) => product * dim, 1)
  if (!dims.every((dim) => Number.isInteger(dim) && dim >= 0) || !Number.isSafeInteger(size)) {
    throw rangeError(`dims must be non-negative integers whose product is safe, not [${dims}]`, {
      code: 'ERR_TENSOR', expected: 'non-negative integers', received: dims
    })
  }
  return size
}

/**
 * An output as native code gives it.
 * @param {any} value a `NativeOutput` @returns {import('../index').OutputValue}
 */
function fromNativeOutput(value) {
  if (value === null) return null
  const [type, data, dims] = value
  if (type === 'sequence') return data.map(fromNativeOutput)
  if (type === 'map') {
    const keys = data[1]
    const values = dims[1]
    return new Map(Array.from(keys, (key, index) => [key, values[index]]))
  }
  const half = type === 'float16' && NativeFloat16Array !== undefined
  const tensor = new Tensor(type, half ? new NativeFloat16Array(data.buffer) : data, dims)
  return /** @type {import('../index').Tensor} */ (tensor)
}

module.exports = { Tensor, fromNativeOutput }
