'use strict'

// Errors as users see them. Faults of an argument are TypeErrors and RangeErrors, cancellation is an AbortError, all else
// an OnnxTuneError; each has a stable `code` (docs/errors.md).

/** @typedef {import('../index').ErrorDetails} Details */

class OnnxTuneError extends Error {
  /** @param {string} message @param {Details} details */
  constructor(message, details) {
    super(message)
    this.code = details.code
    describe(this, details)
  }

  /** @type {'OnnxTuneError'} */
  get name() {
    return 'OnnxTuneError'
  }
}

// Node's own AbortError is not public; this one has its name, code and cause.
class AbortError extends Error {
  /** @param {unknown} [reason] */
  constructor(reason) {
    super('The operation was aborted')
    /** @type {'ABORT_ERR'} */
    this.code = 'ABORT_ERR'
    describe(this, { code: 'ABORT_ERR', cause: reason })
  }

  /** @type {'AbortError'} */
  get name() {
    return 'AbortError'
  }
}

/**
 * Sets what is known of an error, as own properties; what is unknown is left out.
 * @template {Error} E @param {E} error @param {Details} details @returns {E & Details}
 */
function describe(error, details) {
  for (const [key, value] of Object.entries(details)) {
    if (value !== undefined) {
      Object.defineProperty(error, key, { value, enumerable: key !== 'cause', writable: true, configurable: true })
    }
  }
  return /** @type {any} */ (error)
}

/** An argument of the wrong kind. @param {string} message @param {Details} details */
function typeError(message, details) {
  return describe(new TypeError(withHint(message, details)), details)
}

/** An argument of the right kind and the wrong value. @param {string} message @param {Details} details */
function rangeError(message, details) {
  return describe(new RangeError(withHint(message, details)), details)
}

/** @param {string} message @param {Omit<Details, 'code'>} details */
function withHint(message, details) {
  return details.hint === undefined ? message : `${message}; ${details.hint}`
}

/**
 * The public error for one that native code gave, whose message is a report in JSON.
 * @param {unknown} error @param {AbortSignal} [signal]
 */
function fromNative(error, signal) {
  /** @type {Details & { message: string }} */
  let report
  try {
    report = JSON.parse(/** @type {Error} */ (error).message)
  } catch {
    return error
  }
  const { message, ...details } = report
  return details.code === 'ABORT_ERR'
    ? new AbortError(signal?.reason)
    : new OnnxTuneError(withHint(message, details), details)
}

module.exports = { AbortError, OnnxTuneError, fromNative, rangeError, typeError }
