'use strict'

const { rangeError, typeError } = require('./errors.js')
const { nearest } = require('./names.js')

/** @typedef {(value: unknown, name: string) => void} Check */

/**
 * Checks an options object: known names only, each by its check. Undefined stands for left out.
 * @param {unknown} options @param {Record<string, Check>} checks @param {string} [what]
 * @returns {Record<string, any>}
 */
function checkOptions(options, checks, what = 'options') {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw typeError(`${what} must be an object`, { code: 'ERR_OPTION', expected: 'object', received: options })
  }
  for (const name of Object.keys(options)) {
    const value = /** @type {any} */ (options)[name]
    if (!Object.hasOwn(checks, name)) {
      const known = Object.keys(checks)
      const near = nearest(name, known)
      throw typeError(`${what} has no ${JSON.stringify(name)}`, {
        code: 'ERR_OPTION',
        expected: known,
        received: name,
        hint: near === undefined ? undefined : `did you mean ${JSON.stringify(near)}?`
      })
    }
    if (value !== undefined) checks[name](value, `${what}.${name}`)
  }
  return /** @type {Record<string, any>} */ (options)
}

/** @param {unknown} value @param {string} name @param {string} expected @returns {Error} */
function wrong(value, name, expected) {
  /** @type {import('../index').ErrorDetails} */
  const details = { code: 'ERR_OPTION', expected, received: value }
  const message = `${name} must be ${expected}, not ${show(value)}`
  return typeof value === 'number' ? rangeError(message, details) : typeError(message, details)
}

/** @param {unknown} value @returns {string} */
function show(value) {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(value)
}

/** An integer from `low` to `high`. @param {number} low @param {number} [high] @returns {Check} */
const integer =
  (low, high = 2 ** 31 - 1) =>
  (value, name) => {
    if (!Number.isInteger(value) || Number(value) < low || Number(value) > high) {
      throw wrong(value, name, `an integer from ${low} to ${high}`)
    }
  }

/** A finite number above `low`, up to `high`. @param {number} low @param {number} [high] @returns {Check} */
const above =
  (low, high = Infinity) =>
  (value, name) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || value <= low || value > high) {
      throw wrong(value, name, `a finite number above ${low}${high === Infinity ? '' : ` and up to ${high}`}`)
    }
  }

/** A finite number of `low` or more. @param {number} low @returns {Check} */
const atLeast = (low) => (value, name) => {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < low) {
    throw wrong(value, name, `a finite number of at least ${low}`)
  }
}

/** @type {Check} */
const boolean = (value, name) => {
  if (typeof value !== 'boolean') throw wrong(value, name, 'a boolean')
}

/** @type {Check} */
const callback = (value, name) => {
  if (typeof value !== 'function') throw wrong(value, name, 'a function')
}

/** One of the given strings. @param {readonly string[]} choices @returns {Check} */
const oneOf = (choices) => (value, name) => {
  if (typeof value !== 'string' || !choices.includes(value)) {
    throw wrong(value, name, `one of ${choices.map(show).join(', ')}`)
  }
}

/** An instance of one of the given classes. @param {Function[]} classes @returns {Check} */
const instance =
  (...classes) =>
  (value, name) => {
    if (!classes.some((one) => value instanceof one)) {
      throw wrong(value, name, `a ${classes.map((one) => one.name).join(' or ')}`)
    }
  }

/** A non-empty array, each element by its check. @param {Check} check @returns {Check} */
const arrayOf = (check) => (value, name) => {
  if (!Array.isArray(value) || value.length === 0) throw wrong(value, name, 'a non-empty array')
  value.forEach((element, index) => check(element, `${name}[${index}]`))
}

/** @type {Check} */
const string = (value, name) => {
  if (typeof value !== 'string' || value.includes('\0')) throw wrong(value, name, 'a string without NUL')
}

/** @type {Check} */
const object = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(value, name, 'an object')
}

/** An object, each value by its check. @param {Check} check @returns {Check} */
const recordOf = (check) => (value, name) => {
  object(value, name)
  for (const [key, element] of Object.entries(/** @type {any} */ (value))) check(element, `${name}[${show(key)}]`)
}

/** Anything; `lib/call.js` checks signals. @type {Check} */
const any = () => {}

module.exports = {
  above,
  any,
  arrayOf,
  atLeast,
  boolean,
  callback,
  checkOptions,
  instance,
  integer,
  object,
  oneOf,
  recordOf,
  show,
  string,
  wrong
}
