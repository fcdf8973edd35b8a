'use strict'

const binding = require('../binding.js')
const { callback: isFunction, checkOptions, oneOf } = require('./options.js')

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace']

/**
 * @param {((line: import('../index').LogLine) => void) | null} callback
 * @param {import('../index').LogOptions} [options]
 */
function setLogger(callback, options) {
  const { level = 'warn' } = checkOptions(options, { level: oneOf(LEVELS) })
  if (callback !== null) isFunction(callback, 'callback')
  // What the callback throws is the program's own error, and ends as one that nobody caught.
  binding.setLogger(level, callback === null ? null : (line) => callback(JSON.parse(line)))
}

module.exports = { setLogger }
