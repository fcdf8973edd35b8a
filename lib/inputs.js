'use strict'

// Brings what the user gave into the form that native code takes: data and dims of each input in graph order. Every
// fault of an input is found here, before native code, and names the input, what was expected and what came.

const { arrayKind } = require('./dtype.js')
const { typeError } = require('./errors.js')
const { nearest } = require('./names.js')
const { show } = require('./options.js')
const { checkDims, solveDims } = require('./shape.js')
const { fromNested, fromTypedArray } = require('./values.js')

/** @typedef {import('../index').ValueInfo} ValueInfo */
/** @typedef {{ data: any[], dims: (readonly number[])[] }} Prepared */

/**
 * @param {readonly ValueInfo[]} graph the graph's inputs
 * @param {any} inputs by name, by position, or the value of the only input
 * @param {boolean} [items] whether an input may lack its batch dimension
 * @returns {Prepared}
 */
function prepare(graph, inputs, items = false) {
  const values = arrange(graph, inputs)
  /** @type {Prepared} */
  const prepared = { data: new Array(graph.length), dims: new Array(graph.length) }
  for (let index = 0; index < graph.length; index++) {
    const { data, dims } = prepareOne(graph[index], values[index], items)
    prepared.data[index] = data
    prepared.dims[index] = dims
  }
  return prepared
}

/** The values in graph order. @param {readonly ValueInfo[]} graph @param {any} inputs @returns {any[]} */
function arrange(graph, inputs) {
  if (isRecord(graph, inputs)) return byName(graph, inputs)
  if (Array.isArray(inputs) && isPositional(graph, inputs)) {
    if (inputs.length === graph.length) return inputs
    throw typeError(`${inputs.length} inputs were given by position, but the graph has ${graph.length}`, {
      code: 'ERR_INPUT_COUNT',
      expected: graph.map((input) => input.name),
      received: inputs.length
    })
  }
  if (graph.length === 1) return [inputs]
  throw typeError('inputs must be an object by name or an array in graph order, since the graph has several', {
    code: 'ERR_INPUT_COUNT',
    expected: graph.map((input) => input.name),
    received: kindOf(inputs)
  })
}

/**
 * Whether it maps names to values, rather than being the value of the only input (`{ data, dims }`, a typed array, …).
 * @param {readonly ValueInfo[]} graph @param {any} inputs
 */
function isRecord(graph, inputs) {
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs) || ArrayBuffer.isView(inputs)) return false
  if (!isTensorLike(inputs)) return true
  const keys = Object.keys(inputs)
  return keys.length > 0 && keys.every((key) => graph.some((input) => input.name === key))
}

/** An array of values, one per input; for the only input, an array of plain values is its content. @param {readonly ValueInfo[]} graph @param {any[]} inputs */
function isPositional(graph, inputs) {
  return (
    graph.length !== 1 ||
    (inputs.length > 0 && inputs.every((value) => ArrayBuffer.isView(value) || isTensorLike(value)))
  )
}

/** @param {any} value */
function isTensorLike(value) {
  return typeof value === 'object' && value !== null && 'data' in value && ('dims' in value || 'shape' in value)
}

/** @param {readonly ValueInfo[]} graph @param {Record<string, any>} inputs */
function byName(graph, inputs) {
  const values = new Array(graph.length)
  let found = 0
  for (let index = 0; index < graph.length; index++) {
    const name = graph[index].name
    // Own properties only: `constructor` and `__proto__` are names like any other.
    if (Object.hasOwn(inputs, name) && inputs[name] !== undefined) {
      values[index] = inputs[name]
      found++
    }
  }
  const keys = Object.keys(inputs).filter((key) => inputs[key] !== undefined)
  if (found === graph.length && keys.length === found) return values
  throw nameFault(
    graph.map((input) => input.name),
    keys
  )
}

/** @param {string[]} expected @param {string[]} received */
function nameFault(expected, received) {
  const unknown = received.find((name) => !expected.includes(name))
  const missing = expected.find((name) => !received.includes(name))
  const near = unknown === undefined ? undefined : nearest(unknown, expected)
  const hint = near === undefined ? undefined : `did you mean ${show(near)}?`
  const lists = `expected ${show(expected)}, received ${show(received)}`
  if (missing !== undefined) {
    return typeError(`input ${show(missing)} is missing; ${lists}`, {
      code: 'ERR_INPUT_MISSING',
      input: missing,
      expected,
      received,
      hint
    })
  }
  return typeError(`the graph has no input ${show(unknown)}; ${lists}`, {
    code: 'ERR_INPUT_UNKNOWN',
    input: unknown,
    expected,
    received,
    hint
  })
}

/** @param {ValueInfo} info @param {any} value @param {boolean} items @returns {{ data: any, dims: readonly number[] }} */
function prepareOne(info, value, items) {
  const dtype = info.dtype
  if (dtype === null) {
    throw typeError(`input ${show(info.name)} is a ${info.type}, which cannot be given yet`, {
      code: 'ERR_INPUT_TYPE',
      input: info.name,
      expected: info.type,
      received: kindOf(value)
    })
  }
  if (ArrayBuffer.isView(value)) {
    const data = fromTypedArray(info, dtype, value, undefined)
    return { data, dims: solveDims(info, dtype, data.length, items) }
  }
  if (isTensorLike(value)) {
    const dims = value.dims ?? value.shape
    checkDims(info, dims, items)
    const data = ArrayBuffer.isView(value.data)
      ? fromTypedArray(info, dtype, value.data, value.type)
      : fromNested(info, dtype, value.data, dims, value.type).data
    checkDims(info, dims, items, dtype, data.length)
    return { data, dims }
  }
  if (
    value === null ||
    value === undefined ||
    typeof value === 'function' ||
    typeof value === 'symbol' ||
    (typeof value === 'object' && !Array.isArray(value))
  ) {
    throw typeError(
      `input ${show(info.name)} must be a tensor, a typed array, an array or a scalar, not ${kindOf(value)}`,
      {
        code: 'ERR_INPUT_TYPE',
        input: info.name,
        expected: info.type,
        received: kindOf(value)
      }
    )
  }
  const { data, dims } = fromNested(info, dtype, value, undefined)
  const flat = Array.isArray(value) && dims.length === 1 && info.shape !== null && info.shape.length !== 1
  if (flat || !Array.isArray(value)) return { data, dims: solveDims(info, dtype, data.length, items) }
  checkDims(info, dims, items, dtype, data.length)
  return { data, dims }
}

/** @param {any} value */
function kindOf(value) {
  if (value === null) return 'null'
  return arrayKind(value) ?? (Array.isArray(value) ? 'array' : typeof value)
}

module.exports = { prepare }
