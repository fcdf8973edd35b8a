'use strict'

const { NATURAL, STORAGE, NativeFloat16Array, arrayKind, storedLength } = require('./dtype.js')
const { rangeError, typeError } = require('./errors.js')
const { fromNested } = require('./values.js')

/** Marks what native code made, which needs no check. */
const TRUSTED = Symbol('trusted')

/** @typedef {import('../index').DType} DType */

/**
 * A dense tensor on the CPU, of the shape that `onnxruntime-common` gives its own.
 * @template {DType} T
 */
class Tensor {
  /**
   * `new Tensor(type, data, dims)` or `new Tensor(data, dims)` with a typed array, strings or booleans; without `dims` it
   * is one-dimensional. Plain arrays are converted, typed arrays are kept.
   * @param {any} first @param {any} [second] @param {any} [third] @param {any} [trusted]
   */
  constructor(first, second, third, trusted) {
    if (trusted === TRUSTED) {
      /** @type {T} */
      this.type = first
      /** @type {import('../index').TensorDataMap[T]} */
      this.data = second
      /** @type {readonly number[]} */
      this.dims = third
      return
    }
    const [type, data, dims] = /** @type {[T, any, readonly number[] | undefined]} */ (
      typeof first === 'string' ? [first, second, third] : [naturalType(first), first, second]
    )
    const stored = store(type, data)
    this.type = type
    this.data = stored
    this.dims = dims ?? [stored.length / (storedLength(type, 4) / 4)]
    checkLength(type, this.dims, stored.length)
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
        code: 'ERR_TENSOR',
        received: this.type
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

/** The type of data that comes without one. @param {any} data */
function naturalType(data) {
  const kind = arrayKind(data)
  if (kind !== undefined && Object.hasOwn(NATURAL, kind)) return NATURAL[kind]
  if (Array.isArray(data) && typeof data[0] === 'boolean') return 'bool'
  if (Array.isArray(data) && (data.length === 0 || typeof data[0] === 'string')) return 'string'
  throw typeError('the type of this data cannot be told; give it: new Tensor(type, data, dims)', {
    code: 'ERR_TENSOR',
    expected: 'a typed array, strings or booleans',
    received: kind ?? typeof data
  })
}

/** The data as the tensor keeps it. @param {string} type @param {any} data */
function store(type, data) {
  if (type !== 'string' && !Object.hasOwn(STORAGE, type)) {
    throw typeError(`there is no tensor type ${JSON.stringify(type)}`, {
      code: 'ERR_TENSOR',
      expected: ['string', ...Object.keys(STORAGE)],
      received: type
    })
  }
  if (Array.isArray(data)) {
    const converted = fromNested({ name: 'data', type, dtype: null, shape: null }, type, data, [data.length]).data
    return type === 'float16' ? new NativeFloat16Array(converted.buffer) : converted
  }
  const kind = arrayKind(data)
  if (kind !== undefined && STORAGE[type]?.accepts.includes(kind)) return data
  throw typeError(`a ${type} tensor cannot hold this data`, {
    code: 'ERR_TENSOR',
    expected: STORAGE[type]?.accepts ?? ['string[]'],
    received: kind ?? typeof data
  })
}

/** @param {string} type @param {readonly number[]} dims @param {number} received */
function checkLength(type, dims, received) {
  if (!Array.isArray(dims)) {
    throw typeError('dims must be an array', { code: 'ERR_TENSOR', expected: 'number[]', received: dims })
  }
  const size = dims.reduce((product, dim) => product * dim, 1)
  if (!dims.every((dim) => Number.isInteger(dim) && dim >= 0) || !Number.isSafeInteger(size)) {
    throw rangeError(`dims must be non-negative integers whose product is safe, not [${dims}]`, {
      code: 'ERR_TENSOR',
      expected: 'non-negative integers',
      received: dims
    })
  }
  const expected = storedLength(type, size)
  if (expected !== received) {
    throw rangeError(`a ${type} tensor of dims [${dims}] has ${expected} entries, not ${received}`, {
      code: 'ERR_TENSOR',
      expected,
      received
    })
  }
}

/**
 * A tensor of what native code gave.
 * @param {any} type @param {any} data @param {readonly number[]} dims @returns {import('../index').Tensor}
 */
function trusted(type, data, dims) {
  const half = type === 'float16' && NativeFloat16Array !== undefined && !(data instanceof NativeFloat16Array)
  const held = half ? new NativeFloat16Array(data.buffer, data.byteOffset, data.length) : data
  return /** @type {any} */ (new Tensor(type, held, dims, TRUSTED))
}

/**
 * A value that is no plain tensor of its declared type.
 * @param {any} structure a `NativeStructure` @returns {import('../index').OutputValue}
 */
function fromStructure(structure) {
  if (structure === null) return null
  const [type, data, dims] = structure
  if (type === 'sequence') return data.map(fromStructure)
  if (type === 'map') {
    const [keys, values] = [data[1], dims[1]]
    return new Map(Array.from(keys, (key, index) => [key, values[index]]))
  }
  return trusted(type, data, dims)
}

module.exports = { Tensor, fromStructure, trusted }
