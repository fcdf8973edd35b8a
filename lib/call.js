'use strict'

const { Cancel } = require('../binding.js')
const { AbortError, fromNative, typeError } = require('./errors.js')

/**
 * Makes a native call that `signal` can cancel, and gives its result or the public error.
 * @template T
 * @param {AbortSignal | undefined} signal
 * @param {(cancel: Cancel | undefined) => Promise<T>} start
 * @returns {Promise<T>}
 */
async function call(signal, start) {
  if (signal === undefined) {
    try {
      return await start(undefined)
    } catch (error) {
      throw fromNative(error)
    }
  }
  checkSignal(signal)
  if (signal.aborted) throw new AbortError(signal.reason)
  const cancel = new Cancel()
  const abort = () => cancel.cancel()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await start(cancel)
  } catch (error) {
    throw fromNative(error, signal)
  } finally {
    signal.removeEventListener('abort', abort)
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
  let abort = () => {}
  const aborted = new Promise((_, reject) => {
    abort = () => reject(new AbortError(signal.reason))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([work, /** @type {Promise<never>} */ (aborted)])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

module.exports = { call, checkSignal, unlessAborted }
