'use strict'

const { NATURAL, STORAGE, arrayKind, halfBits, storedLength } = require('./dtype.js')
const { rangeError, typeError } = require('./errors.js')
const { show } = require('./options.js')

/** @typedef {import('../index').ValueInfo} ValueInfo */

/** Nested arrays deeper than this are no tensor. */
const DEEPEST = 64

const INTEGER_RANGES = /** @type {Record<string, readonly [number, number]>} */ ({
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295]
})
const BIGINT_RANGES = /** @type {Record<string, readonly [bigint, bigint]>} */ ({
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n]
})

/**
 * The typed array to hand to native code, once it is known to hold the input's type.
 * @param {ValueInfo} info @param {string} dtype @param {any} array @param {string | undefined} type what the user says it holds
 */
function fromTypedArray(info, dtype, array, type) {
  const kind = arrayKind(array)
  if (type !== undefined && type !== dtype) throw typeFault(info, dtype, type)
  const storage = STORAGE[dtype]
  if (kind !== undefined && storage?.accepts.includes(kind)) {
    // The binding knows no Float16Array; it takes the bits.
    return kind === 'Float16Array' ? halfBits(array) : array
  }
  // Raw bytes, when the user said what they are: a Buffer from a file or a socket.
  if (type !== undefined && storage !== undefined && kind === 'Uint8Array') return fromBytes(info, dtype, array)
  throw typeFault(info, dtype, kind === undefined ? typeof array : kind)
}

/** @param {ValueInfo} info @param {string} dtype @param {Uint8Array} bytes */
function fromBytes(info, dtype, bytes) {
  const { array } = STORAGE[dtype]
  const width = array.BYTES_PER_ELEMENT
  if (bytes.length % width !== 0) {
    throw rangeError(`input ${show(info.name)} was given ${bytes.length} bytes, which are no whole ${dtype} values`, {
      code: 'ERR_INPUT_LENGTH',
      input: info.name,
      expected: `a multiple of ${width}`,
      received: bytes.length
    })
  }
  // Copied, since a slice of a Buffer may start anywhere and typed arrays must be aligned.
  const copy = new Uint8Array(bytes).buffer
  const bits = dtype === 'float16' ? Uint16Array : array
  return new bits(copy)
}

/**
 * Values from (nested) arrays or a scalar, each checked to be one that the type can hold exactly.
 * @param {ValueInfo} info @param {string} dtype @param {any} value @param {readonly number[] | undefined} dims of flat data
 * @param {string | undefined} [type] what the user says it holds
 * @returns {{ data: any, dims: readonly number[] }}
 */
function fromNested(info, dtype, value, dims, type) {
  if (type !== undefined && type !== dtype) throw typeFault(info, dtype, type)
  const shape = dims ?? nestedShape(info, value)
  const flat = Array.isArray(value) ? value.flat(Infinity) : [value]
  if (dims === undefined && flat.length !== shape.reduce((total, dim) => total * dim, 1)) throw ragged(info, shape)
  if (dtype === 'string') {
    flat.forEach((text) => checkString(info, text))
    return { data: flat, dims: shape }
  }
  const storage = STORAGE[dtype]
  if (storedLength(dtype, 4) !== 4 || dtype.startsWith('float8') || dtype === 'bfloat16') {
    throw typeError(
      `${dtype} values of input ${show(info.name)} must be given as their bits in a ${storage.accepts[0]}`,
      {
        code: 'ERR_INPUT_TYPE',
        input: info.name,
        expected: storage.accepts,
        received: 'array'
      }
    )
  }
  if (dtype === 'float16' && storage.array === Uint16Array) {
    throw typeError(`this engine has no Float16Array; give input ${show(info.name)} as bits in a Uint16Array`, {
      code: 'ERR_INPUT_TYPE',
      input: info.name,
      expected: storage.accepts,
      received: 'array'
    })
  }
  const data = storage.array.from(flat, (/** @type {any} */ element) => convert(info, dtype, element))
  return { data: dtype === 'float16' ? new Uint16Array(data.buffer) : data, dims: shape }
}

/** @param {ValueInfo} info @param {any} value @returns {number[]} */
function nestedShape(info, value) {
  const shape = []
  for (let level = value; Array.isArray(level); level = level[0]) {
    // An array that holds itself would never end.
    if (shape.length === DEEPEST) throw ragged(info, shape)
    shape.push(level.length)
  }
  checkEven(info, value, shape, 0)
  return shape
}

/** @param {ValueInfo} info @param {any} value @param {number[]} shape @param {number} axis */
function checkEven(info, value, shape, axis) {
  if (Array.isArray(value) !== axis < shape.length || (axis < shape.length && value.length !== shape[axis])) {
    throw ragged(info, shape)
  }
  if (axis < shape.length) for (const part of value) checkEven(info, part, shape, axis + 1)
}

/** @param {ValueInfo} info @param {readonly number[]} shape */
function ragged(info, shape) {
  return rangeError(`the nested arrays of input ${show(info.name)} are not all of one shape`, {
    code: 'ERR_INPUT_SHAPE',
    input: info.name,
    expected: info.shape,
    received: shape
  })
}

/** @param {ValueInfo} info @param {string} dtype @param {any} value */
function convert(info, dtype, value) {
  const fault = (/** @type {string} */ expected) => {
    /** @type {import('../index').ErrorDetails} */
    const details = { code: 'ERR_INPUT_VALUE', input: info.name, expected, received: value }
    const message = `input ${show(info.name)} takes ${expected}, not ${show(value)}`
    return typeof value === 'number' || typeof value === 'bigint'
      ? rangeError(message, details)
      : typeError(message, details)
  }
  if (dtype in BIGINT_RANGES) {
    const [low, high] = BIGINT_RANGES[dtype]
    if (typeof value === 'number' && !Number.isSafeInteger(value)) throw fault('safe integers or bigints')
    if (typeof value !== 'number' && typeof value !== 'bigint') throw fault('integers or bigints')
    const big = BigInt(value)
    if (big < low || big > high) throw fault(`integers from ${low} to ${high}`)
    return big
  }
  if (dtype === 'bool') {
    if (typeof value === 'boolean') return Number(value)
    if (value === 0 || value === 1) return value
    throw fault('booleans')
  }
  if (typeof value !== 'number') throw fault('numbers')
  if (dtype in INTEGER_RANGES) {
    const [low, high] = INTEGER_RANGES[dtype]
    if (!Number.isInteger(value) || value < low || value > high) throw fault(`integers from ${low} to ${high}`)
  }
  return value
}

/** @param {ValueInfo} info @param {any} text */
function checkString(info, text) {
  if (typeof text !== 'string') {
    throw typeError(`input ${show(info.name)} takes strings, not ${show(text)}`, {
      code: 'ERR_INPUT_VALUE',
      input: info.name,
      expected: 'strings',
      received: text
    })
  }
  if (!(/** @type {any} */ (text).isWellFormed())) {
    throw rangeError(`input ${show(info.name)} was given a string with a lone surrogate, which UTF-8 cannot hold`, {
      code: 'ERR_INPUT_VALUE',
      input: info.name,
      expected: 'well-formed strings',
      received: text
    })
  }
}

/** @param {ValueInfo} info @param {string} dtype @param {string} received */
function typeFault(info, dtype, received) {
  const expected = STORAGE[dtype]?.accepts.join(' or ') ?? 'string[]'
  const natural = NATURAL[received]
  const hint = natural === 'uint8' ? `for raw bytes give { data, dims, type: '${dtype}' }` : undefined
  return typeError(`input ${show(info.name)} is ${dtype} and takes ${expected}, not ${received}`, {
    code: 'ERR_INPUT_TYPE',
    input: info.name,
    expected: dtype,
    received: natural ?? received,
    hint
  })
}

module.exports = { fromNested, fromTypedArray }
