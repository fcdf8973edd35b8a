'use strict'

const { onAbort } = require('./call.js')

/** @typedef {import('../index').Progress} Progress */

/**
 * A guard for the user's progress callback: native code cannot catch what it throws, so the first throw is kept for the
 * call to reject with, and ends it.
 * @param {((progress: Progress) => void) | undefined} onProgress @param {(event: any) => Progress} read
 */
function progressGuard(onProgress, read) {
  const controller = new AbortController()
  /** @type {{ error: unknown } | undefined} */
  let thrown
  const listener = (/** @type {string} */ json) => {
    if (onProgress === undefined || thrown !== undefined) return
    try {
      onProgress(read(JSON.parse(json)))
    } catch (error) {
      thrown = { error }
      controller.abort(error)
    }
  }
  const abort = (/** @type {unknown} */ reason) => controller.abort(reason)
  return { listener, abort, signal: controller.signal, thrown: () => thrown }
}

/**
 * Makes a native call that tells progress to the user's callback.
 * @template T
 * @param {AbortSignal | undefined} signal
 * @param {((progress: Progress) => void) | undefined} onProgress
 * @param {(event: any) => Progress} read
 * @param {(listener: (json: string) => void, signal: AbortSignal) => Promise<T>} start
 */
async function withProgress(signal, onProgress, read, start) {
  const guard = progressGuard(onProgress, read)
  // Not AbortSignal.any: it takes no signal but the engine's own.
  const abort = () => guard.abort(signal?.reason)
  if (signal?.aborted) abort()
  const unlisten = signal && onAbort(signal, abort)
  try {
    return await start(guard.listener, guard.signal)
  } finally {
    unlisten?.()
    const thrown = guard.thrown()
    // The user's own error counts for more than the abort that it led to, and than a result that came all the same.
    if (thrown !== undefined) throw thrown.error
  }
}

module.exports = { withProgress }
