'use strict'

const { storedLength } = require('./dtype.js')
const { rangeError, typeError } = require('./errors.js')
const { show } = require('./options.js')

/** @typedef {import('../index').ValueInfo} ValueInfo */

/**
 * The dims of a value that came without: the graph's shape with its one unknown dimension solved from the length.
 * @param {ValueInfo} info @param {string} dtype @param {number} length entries of the array @param {boolean} items
 * @returns {number[]}
 */
function solveDims(info, dtype, length, items) {
  const shape = info.shape
  if (shape === null) throw unsolvable(info, length, 'its rank is unknown')
  // An item lacks the leading dimension. Where the rest of the shape is known, its length tells; where one dimension of
  // the rest is unknown too, only an item can be solved.
  const rest = shape.slice(1)
  const unknown = shape.filter((dim) => !isFixed(dim)).length
  if (items && shape.length > 0 && rest.every(isFixed) && storedLength(dtype, product(rest)) === length) return rest
  if (items && unknown === 2 && !isFixed(shape[0])) return solveDims({ ...info, shape: rest }, dtype, length, false)
  if (unknown > 1) throw unsolvable(info, length, `${unknown} of its dimensions are unknown`)
  const known = product(shape.filter(isFixed))
  if (unknown === 0) {
    if (storedLength(dtype, known) !== length) throw lengthFault(info, length, storedLength(dtype, known), shape)
    return /** @type {number[]} */ (shape.slice())
  }
  const elements = (length / storedLength(dtype, 4)) * 4
  const solved = known === 0 ? (length === 0 ? 0 : NaN) : elements / known
  if (!Number.isInteger(solved)) throw lengthFault(info, length, `a multiple of ${storedLength(dtype, known)}`, shape)
  return shape.map((dim) => (isFixed(dim) ? dim : solved))
}

/**
 * Checks dims that came with the value against the graph's shape and, once it is known, against the data's length.
 * @param {ValueInfo} info @param {any} dims @param {boolean} items @param {string} [dtype] @param {number} [length]
 */
function checkDims(info, dims, items, dtype, length) {
  if (!Array.isArray(dims)) {
    throw typeError(`dims of input ${show(info.name)} must be an array`, {
      code: 'ERR_INPUT_SHAPE',
      input: info.name,
      expected: 'number[]',
      received: dims
    })
  }
  let count = 1
  // Without dimensions of zero, since native code multiplies in another order.
  let extent = 1
  for (const dim of dims) {
    if (!Number.isInteger(dim) || dim < 0) {
      throw rangeError(`dims of input ${show(info.name)} must be non-negative integers, not ${show(dims)}`, {
        code: 'ERR_INPUT_SHAPE',
        input: info.name,
        expected: info.shape,
        received: dims
      })
    }
    count *= dim
    extent *= dim || 1
  }
  if (!Number.isSafeInteger(extent)) {
    throw rangeError(`dims ${show(dims)} of input ${show(info.name)} have more elements than can be counted`, {
      code: 'ERR_INPUT_SHAPE',
      input: info.name,
      expected: info.shape,
      received: dims
    })
  }
  const shape = info.shape
  if (shape !== null && !fits(dims, shape) && !(items && fits(dims, shape.slice(1)) && shape.length > 0)) {
    throw rangeError(`input ${show(info.name)} has shape ${show(dims)}, but the graph's is ${showShape(shape)}`, {
      code: 'ERR_INPUT_SHAPE',
      input: info.name,
      expected: shape,
      received: dims,
      hint: hintFor(dims, shape)
    })
  }
  if (dtype !== undefined && length !== undefined && storedLength(dtype, count) !== length) {
    throw lengthFault(info, length, storedLength(dtype, count), dims)
  }
}

/** @param {readonly number[]} dims @param {readonly (number | string | null)[]} shape */
function fits(dims, shape) {
  return dims.length === shape.length && shape.every((dim, axis) => !isFixed(dim) || dim === dims[axis])
}

/** A guess at what went wrong. @param {readonly number[]} dims @param {readonly (number | string | null)[]} shape */
function hintFor(dims, shape) {
  if (fits(dims, shape.slice(1)) && shape.length > 0) return `is the batch dimension missing? ${show([1, ...dims])}`
  if (dims.length === 4 && shape.length === 4) {
    const [n, a, b, c] = dims
    if (fits([n, c, a, b], shape)) return 'is the data in NHWC order where the graph takes NCHW?'
    if (fits([n, b, c, a], shape)) return 'is the data in NCHW order where the graph takes NHWC?'
  }
  if (dims.length === shape.length && shape.length > 1 && isFixed(shape[0]) && fits(dims.slice(1), shape.slice(1))) {
    return `the graph's batch is fixed at ${shape[0]}`
  }
  return undefined
}

/** @param {readonly (number | string | null)[]} shape */
function showShape(shape) {
  return `[${shape.map((dim) => dim ?? '?').join(', ')}]`
}

/** @param {number | string | null} dim @returns {dim is number} */
function isFixed(dim) {
  return typeof dim === 'number'
}

/** @param {readonly any[]} dims @returns {number} */
function product(dims) {
  return dims.reduce((total, dim) => total * dim, 1)
}

/** @param {ValueInfo} info @param {number} length @param {string} why */
function unsolvable(info, length, why) {
  return typeError(`the shape of input ${show(info.name)} cannot be told from ${length} values, since ${why}`, {
    code: 'ERR_INPUT_SHAPE',
    input: info.name,
    expected: info.shape,
    received: length,
    hint: 'give { data, dims }'
  })
}

/** @param {ValueInfo} info @param {number} received @param {number | string} expected @param {readonly any[]} shape */
function lengthFault(info, received, expected, shape) {
  return rangeError(`input ${show(info.name)} of shape ${showShape(shape)} takes ${expected} values, not ${received}`, {
    code: 'ERR_INPUT_LENGTH',
    input: info.name,
    expected,
    received
  })
}

module.exports = { checkDims, solveDims }
