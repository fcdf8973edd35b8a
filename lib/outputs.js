'use strict'

const { STORAGE, arrayKind, halfBits } = require('./dtype.js')
const { typeError } = require('./errors.js')
const { nearest } = require('./names.js')
const { show } = require('./options.js')
const { fromStructure, trusted } = require('./tensor.js')

/** @typedef {import('../index').ValueInfo} ValueInfo */

/**
 * Which outputs a run is to give and where they are to be written.
 * @typedef {{ infos: readonly ValueInfo[], indices: number[] | undefined, into: any[] | undefined }} Wanted
 */

/**
 * @param {readonly ValueInfo[]} graph the graph's outputs
 * @param {readonly string[] | undefined} names those wanted; all without
 * @param {Record<string, any> | undefined} into arrays of the caller's by output name
 * @returns {Wanted}
 */
function wantOutputs(graph, names, into) {
  const indices = names === undefined ? undefined : select(graph, names)
  const infos = indices === undefined ? graph : indices.map((index) => graph[index])
  return { infos, indices, into: into === undefined ? undefined : targets(infos, into) }
}

/** In graph order, each once. @param {readonly ValueInfo[]} graph @param {readonly string[]} names */
function select(graph, names) {
  for (const name of names) if (!graph.some((info) => info.name === name)) throw unknownOutput(graph, name)
  return graph.flatMap((info, index) => (names.includes(info.name) ? [index] : []))
}

/** @param {readonly ValueInfo[]} infos @param {Record<string, any>} into */
function targets(infos, into) {
  const arrays = new Array(infos.length)
  let found = 0
  for (let index = 0; index < infos.length; index++) {
    const info = infos[index]
    if (!Object.hasOwn(into, info.name)) continue
    arrays[index] = target(info, into[info.name])
    found++
  }
  const names = Object.keys(into)
  if (names.length === found) return arrays
  throw unknownOutput(infos, /** @type {string} */ (names.find((name) => !infos.some((info) => info.name === name))))
}

/** @param {ValueInfo} info @param {any} given */
function target(info, given) {
  const array = ArrayBuffer.isView(given) ? given : given?.data
  // A tensor must not say that it holds another type, such as bfloat16 in the bits of a float16.
  const type = array === given ? info.dtype : (given?.type ?? info.dtype)
  const storage = info.dtype === type ? STORAGE[type ?? ''] : undefined
  if (storage !== undefined && (array instanceof storage.array || storage.accepts.includes(arrayKind(array) ?? ''))) {
    return array
  }
  const kind = info.dtype === type ? arrayKind(array) : `a ${type} tensor`
  throw typeError(`output ${show(info.name)} is a ${info.type} and cannot be written to ${kind ?? show(given)}`, {
    code: 'ERR_INTO',
    output: info.name,
    expected: STORAGE[info.dtype ?? '']?.accepts ?? [],
    received: kind ?? typeof given
  })
}

/** @param {readonly ValueInfo[]} infos @param {string} name */
function unknownOutput(infos, name) {
  const expected = infos.map((info) => info.name)
  const near = nearest(String(name), expected)
  return typeError(`there is no output ${show(name)}; expected ${show(expected)}`, {
    code: 'ERR_OUTPUT_UNKNOWN',
    output: name,
    expected,
    received: name,
    hint: near === undefined ? undefined : `did you mean ${show(near)}?`
  })
}

/** The binding knows no Float16Array; it takes the bits. @param {any[] | undefined} into */
function bits(into) {
  return into?.map((array) => (arrayKind(array) === 'Float16Array' ? halfBits(array) : array))
}

/**
 * The outputs of a run by name.
 * @param {readonly any[] | undefined} result `NativeOutputs`, or the data alone with the dimensions in `dims`
 * @param {Wanted} wanted
 * @param {Float64Array} [dims]
 */
function readOutputs(result, { infos, into }, dims) {
  const beside = result === undefined || result.length === infos.length
  const numbers = /** @type {ArrayLike<any>} */ (beside ? dims : result)
  /** @type {Record<string, import('../index').OutputValue>} */
  const outputs = {}
  let cursor = 0
  for (let index = 0; index < infos.length; index++) {
    const { name, dtype } = infos[index]
    const data = beside ? result?.[index] : numbers[cursor++]
    const rank = numbers[cursor++]
    const shape = new Array(Math.max(rank, 0))
    for (let axis = 0; axis < shape.length; axis++) shape[axis] = numbers[cursor++]
    const value = rank < 0 ? fromStructure(data) : trusted(dtype, data === undefined ? into?.[index] : data, shape)
    // Assignment would set the prototype instead.
    if (name === '__proto__') Object.defineProperty(outputs, name, { value, ...PLAIN })
    else outputs[name] = value
  }
  return outputs
}

const PLAIN = { enumerable: true, writable: true, configurable: true }

module.exports = { bits, readOutputs, wantOutputs }
