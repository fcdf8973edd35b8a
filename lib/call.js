'use strict'

const { Cancel } = require('../binding.js')
const { AbortError, OnnxTuneError, fromNative, typeError } = require('./errors.js')

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
  signal?.addEventListener('abort', abort, { once: true })
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
    signal?.removeEventListener('abort', abort)
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
