'use strict'

const { Cancel, endWork } = require('../binding.js')
const { AbortError, OnnxTuneError, fromNative, typeError } = require('./errors.js')

// What still works in native code must not meet a runtime whose globals are gone.
process.once('exit', () => endWork())

/**
 * Makes a native call that `signal` and a deadline can cancel, and gives its result or the public error.
 * @template T
 * @param {AbortSignal | undefined} signal
 * @param {(cancel: Cancel | undefined) => Promise<T>} start
 * @param {number} [timeoutMs]
 * @returns {Promise<T>}
 */
async function call(signal, start, timeoutMs) {
  if (signal === undefined && timeoutMs === undefined) {
    try {
      return await start(undefined)
    } catch (error) {
      throw fromNative(error)
    }
  }
  if (signal !== undefined) checkSignal(signal)
  if (signal?.aborted) throw new AbortError(signal.reason)
  const cancel = new Cancel()
  const abort = () => cancel.cancel()
  const unlisten = signal && onAbort(signal, abort)
  let late = false
  const timer =
    timeoutMs &&
    setTimeout(() => {
      late = true
      abort()
    }, timeoutMs)
  try {
    return await start(cancel)
  } catch (error) {
    const fault = fromNative(error, signal)
    if (!late || signal?.aborted || !(fault instanceof AbortError)) throw fault
    throw new OnnxTuneError(`the call did not end within ${timeoutMs} ms`, { code: 'ERR_TIMEOUT', expected: timeoutMs })
  } finally {
    clearTimeout(timer)
    unlisten?.()
  }
}

/** @param {unknown} signal @returns {asserts signal is AbortSignal} */
function checkSignal(signal) {
  const like = /** @type {any} */ (signal)
  if (typeof like?.aborted !== 'boolean' || typeof like?.addEventListener !== 'function') {
    throw typeError('signal must be an AbortSignal', { code: 'ERR_OPTION', expected: 'AbortSignal', received: signal })
  }
}

/**
 * What `work` gives, unless the signal is aborted first.
 * @template T
 * @param {AbortSignal | undefined} signal @param {Promise<T>} work @returns {Promise<T>}
 */
async function unlessAborted(signal, work) {
  if (signal === undefined) return work
  /** @type {() => void} */
  let unlisten = () => {}
  const aborted = new Promise((_, reject) => {
    const abort = () => reject(new AbortError(signal.reason))
    if (signal.aborted) abort()
    else unlisten = onAbort(signal, abort)
  })
  try {
    return await Promise.race([work, /** @type {Promise<never>} */ (aborted)])
  } finally {
    unlisten()
  }
}

/** @typedef {{ actions: Set<() => void>, end: () => void }} AbortActions */

/** What is to be done at the abort of a signal. @type {WeakMap<AbortSignal, AbortActions>} */
const abortActions = new WeakMap()

/**
 * Does something at abort, unless what this returns is called before. A signal gets one listener, however many calls it
 * has, since Node warns of more than ten.
 * @param {AbortSignal} signal @param {() => void} action @returns {() => void}
 */
function onAbort(signal, action) {
  const { actions, end } = abortActions.get(signal) ?? listen(signal)
  actions.add(action)
  return () => {
    actions.delete(action)
    if (actions.size === 0) end()
  }
}

/** @param {AbortSignal} signal @returns {AbortActions} */
function listen(signal) {
  /** @type {Set<() => void>} */
  const actions = new Set()
  const abort = () => {
    end()
    for (const action of actions) action()
  }
  const end = () => {
    if (abortActions.get(signal)?.actions === actions) abortActions.delete(signal)
    signal.removeEventListener('abort', abort)
  }
  const listening = { actions, end }
  abortActions.set(signal, listening)
  signal.addEventListener('abort', abort, { once: true })
  return listening
}

module.exports = { call, checkSignal, onAbort, unlessAborted }
