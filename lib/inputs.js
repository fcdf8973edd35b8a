'use strict'

// Brings what the user gave into the form that native code takes: data and dims of each input in graph order. Every
// fault of an input is found here, before native code, and names the input, what was expected and what came.

const { STORAGE, arrayKind } = require('./dtype.js')
const { typeError } = require('./errors.js')
const { nearest } = require('./names.js')
const { show } = require('./options.js')
const { checkDims, solveDims } = require('./shape.js')
const { fromNested, fromTypedArray } = require('./values.js')

/** @typedef {import('../index').ValueInfo} ValueInfo */
/** @typedef {{ data: any[], dims: Float64Array }} Prepared */

/**
 * What is known of an input before any value comes.
 * @typedef {{ info: ValueInfo, array: any, shape: readonly (number | string | null)[] | null, known: number,
 *   unknown: number }} Plan `known` is the product of the fixed dimensions, `unknown` the number of the others
 */

/** @param {readonly ValueInfo[]} inputs @returns {Plan[]} */
function planInputs(inputs) {
  return inputs.map((info) => {
    const storage = info.dtype === null ? undefined : STORAGE[info.dtype]
    const fixed = (info.shape ?? []).filter((dim) => typeof dim === 'number')
    return {
      info,
      // Types that take one entry an element and come as they are; the rest goes the long way.
      array: storage?.perElement === 1 && info.dtype !== 'float16' ? storage.array : undefined,
      shape: info.shape,
      known: fixed.reduce((product, dim) => product * dim, 1),
      unknown: info.shape === null ? Infinity : info.shape.length - fixed.length
    }
  })
}

/** Dimensions of the call under way, flat. Native code reads them before the call returns, so one array serves all. */
let scratch = new Float64Array(64)
let used = 0
/** Whether they are being written. */
let filling = false

/** @param {number} value */
function write(value) {
  if (used === scratch.length) {
    const larger = new Float64Array(2 * used)
    larger.set(scratch)
    scratch = larger
  }
  scratch[used++] = value
}

/**
 * @param {readonly Plan[]} plans of the graph's inputs
 * @param {any} inputs by name, by position, or the value of the only input
 * @param {{ items?: boolean, ignoreExtra?: boolean }} [options] `items`: an input may lack its batch dimension
 * @returns {Prepared} to be handed to native code at once
 */
function prepare(plans, inputs, { items = false, ignoreExtra = false } = {}) {
  const values = arrange(plans, inputs, ignoreExtra)
  // A getter of an input may run a model itself, whose dimensions must not get among these.
  const outer = filling ? { scratch, used } : undefined
  if (outer) scratch = new Float64Array(64)
  filling = true
  used = 0
  try {
    return { data: fill(plans, values, items), dims: scratch }
  } finally {
    filling = outer !== undefined
    if (outer) ({ scratch, used } = outer)
  }
}

/** @param {readonly Plan[]} plans @param {any[]} values @param {boolean} items */
function fill(plans, values, items) {
  const data = new Array(plans.length)
  for (let index = 0; index < plans.length; index++) {
    const plan = plans[index]
    const value = values[index]
    data[index] = !items && takes(plan, value) ? value : prepareOne(plan.info, value, items)
  }
  return data
}

/**
 * The short way for what most calls bring, a typed array of the input's own type whose shape the graph gives; writes its
 * dims. Anything else goes the long way, which finds the words for what is wrong.
 * @param {Plan} plan @param {any} value
 */
function takes(plan, value) {
  if (plan.array === undefined || !(value instanceof plan.array) || plan.unknown > 1 || plan.shape === null)
    return false
  const solved = value.length / plan.known
  if (plan.unknown === 0 ? solved !== 1 : !Number.isInteger(solved)) return false
  write(plan.shape.length)
  for (const dim of plan.shape) write(typeof dim === 'number' ? dim : solved)
  return true
}

/**
 * The values in graph order.
 * @param {readonly Plan[]} plans @param {any} inputs @param {boolean} ignoreExtra @returns {any[]}
 */
function arrange(plans, inputs, ignoreExtra) {
  if (isRecord(plans, inputs)) return byName(plans, inputs, ignoreExtra)
  const graph = plans.map((plan) => plan.info)
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
 * @param {readonly Plan[]} plans @param {any} inputs
 */
function isRecord(plans, inputs) {
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs) || ArrayBuffer.isView(inputs)) return false
  if (!isTensorLike(inputs)) return true
  const keys = Object.keys(inputs)
  return keys.length > 0 && keys.every((key) => plans.some((plan) => plan.info.name === key))
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

/** @param {readonly Plan[]} plans @param {Record<string, any>} inputs @param {boolean} ignoreExtra */
function byName(plans, inputs, ignoreExtra) {
  const values = new Array(plans.length)
  let found = 0
  for (let index = 0; index < plans.length; index++) {
    const { name, type } = plans[index].info
    // Own properties only: `constructor` and `__proto__` are names like any other.
    const value = Object.hasOwn(inputs, name) ? inputs[name] : undefined
    values[index] = value
    if (value !== undefined || type.startsWith('optional(')) found++
  }
  const keys = Object.keys(inputs)
  if (found === plans.length && keys.length === found) return values
  const given = keys.filter((key) => inputs[key] !== undefined)
  const names = plans.map((plan) => plan.info.name)
  if (found === plans.length && (ignoreExtra || given.every((key) => names.includes(key)))) return values
  throw nameFault(names, given)
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

/**
 * The data of any value; writes its dims.
 * @param {ValueInfo} info @param {any} value @param {boolean} items @returns {any}
 */
function prepareOne(info, value, items) {
  if (info.dtype === null) {
    write(-1)
    return toStructure(info, info.type, value)
  }
  const { data, dims } = prepareTensor(info, info.dtype, value, items)
  write(dims.length)
  for (const dim of dims) write(dim)
  return data
}

/**
 * @param {ValueInfo} info @param {string} dtype @param {any} value @param {boolean} items
 * @returns {{ data: any, dims: readonly number[] }}
 */
function prepareTensor(info, dtype, value, items) {
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
  if (!Array.isArray(value) && (value === null || !SCALARS.includes(typeof value))) throw kindFault(info, value)
  const { data, dims } = fromNested(info, dtype, value, undefined)
  const flat = Array.isArray(value) && dims.length === 1 && info.shape !== null && info.shape.length !== 1
  if (flat || !Array.isArray(value)) return { data, dims: solveDims(info, dtype, data.length, items) }
  checkDims(info, dims, items, dtype, data.length)
  return { data, dims }
}

const SCALARS = ['number', 'bigint', 'boolean', 'string']

/**
 * A sequence (an array), a map (a Map) or an optional (its value, or null) in the form that native code takes.
 * @param {ValueInfo} info @param {string} type @param {any} value @returns {any}
 */
function toStructure(info, type, value) {
  const [, kind, inner] = /^(\w+)\((.*)\)$/.exec(type) ?? []
  if (kind === 'optional') return value === null || value === undefined ? null : toStructure(info, inner, value)
  if (kind === 'sequence' && Array.isArray(value)) {
    return ['sequence', Array.from(value, (part) => toStructure(info, inner, part))]
  }
  if (kind === 'map' && value instanceof Map) {
    const [key, element] = inner.split(',', 2)
    const tensor = (/** @type {string} */ dtype, /** @type {any[]} */ list) =>
      toStructure(info, `tensor(${dtype})`, list)
    return ['map', tensor(key, [...value.keys()]), tensor(element, [...value.values()])]
  }
  if (kind === 'tensor' && (STORAGE[inner] !== undefined || inner === 'string')) {
    const loose = { ...info, dtype: /** @type {any} */ (inner), shape: null }
    const given = ArrayBuffer.isView(value) ? { data: value, dims: [/** @type {any} */ (value).length] } : value
    const { data, dims } = SCALARS.includes(typeof given)
      ? fromNested(loose, inner, given, undefined)
      : prepareTensor(loose, inner, given, false)
    return [inner, data, dims]
  }
  throw kindFault(info, value)
}

/** @param {ValueInfo} info @param {any} value */
function kindFault(info, value) {
  const takes = info.dtype === null ? `a ${info.type}` : 'a tensor, a typed array, an array or a scalar'
  return typeError(`input ${show(info.name)} must be ${takes}, not ${kindOf(value)}`, {
    code: 'ERR_INPUT_TYPE',
    input: info.name,
    expected: info.type,
    received: kindOf(value)
  })
}

/** @param {any} value */
function kindOf(value) {
  if (value === null) return 'null'
  return arrayKind(value) ?? (Array.isArray(value) ? 'array' : typeof value)
}

module.exports = { planInputs, prepare }
