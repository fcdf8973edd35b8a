'use strict'

const binding = require('../binding.js')
const { call } = require('./call.js')
const { fromNative, typeError } = require('./errors.js')
const { any, checkOptions } = require('./options.js')
const { readPath } = require('./source.js')

/** @param {import('../index').RuntimeOptions} options */
function setRuntime(options) {
  const { libraryPath } = checkOptions(options, { libraryPath: any })
  const path = readPath(libraryPath)
  if (path === undefined) {
    throw typeError('libraryPath must be a path or a file: URL', {
      code: 'ERR_OPTION',
      expected: 'string or URL',
      received: typeof libraryPath
    })
  }
  try {
    binding.setRuntime(path)
  } catch (error) {
    throw fromNative(error)
  }
}

/** @returns {Promise<import('../index').Versions>} */
async function versions() {
  return JSON.parse(await call(undefined, () => binding.versions()))
}

module.exports = { setRuntime, versions }
