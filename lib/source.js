'use strict'

const { fileURLToPath } = require('node:url')

const { typeError } = require('./errors.js')
const { show, wrong } = require('./options.js')

/**
 * @typedef {{ path: string | undefined, bytes: Uint8Array | null, external: [string, Uint8Array][] | null,
 *   folder: string | undefined }} Source
 */

/**
 * A model's path or bytes, as native code takes them.
 * @param {unknown} source
 * @param {unknown} [externalData] of a model in memory: its data by location, or the folder that holds them
 * @returns {Source}
 */
function readSource(source, externalData) {
  const path = readPath(source)
  if (path !== undefined) {
    if (externalData === undefined) return { path, bytes: null, external: null, folder: undefined }
    throw typeError('externalData goes with a model given as bytes; a file finds its own beside it', {
      code: 'ERR_OPTION',
      received: 'externalData'
    })
  }
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source
  if (!isBytes(bytes)) {
    throw typeError(`a model is given by path, file: URL or bytes, not by ${show(source)}`, {
      code: 'ERR_SOURCE',
      expected: 'string, URL or Uint8Array',
      received: source === null ? 'null' : typeof source
    })
  }
  const folder = readPath(externalData)
  const external = folder === undefined && externalData !== undefined ? readExternal(externalData) : null
  return { path: undefined, bytes, external, folder }
}

/** @param {unknown} externalData @returns {[string, Uint8Array][]} */
function readExternal(externalData) {
  if (typeof externalData !== 'object' || externalData === null) {
    throw wrong(externalData, 'options.externalData', 'an object of Uint8Arrays by location, or a folder')
  }
  const entries = Object.entries(externalData)
  const bad = entries.find(([, data]) => !isBytes(data))
  if (bad === undefined) return entries
  throw typeError(`externalData[${show(bad[0])}] must be a Uint8Array`, {
    code: 'ERR_OPTION',
    expected: 'Uint8Array',
    received: typeof bad[1]
  })
}

/** @param {unknown} source @returns {string | undefined} */
function readPath(source) {
  if (typeof source === 'string') {
    if (source === '' || source.includes('\0')) {
      throw typeError('a path must not be empty or hold NUL', {
        code: 'ERR_SOURCE',
        expected: 'a path',
        received: source
      })
    }
    return /^file:\/\//i.test(source) ? fromUrl(source) : source
  }
  return source instanceof URL ? fromUrl(source) : undefined
}

/** @param {string | URL} url */
function fromUrl(url) {
  try {
    return fileURLToPath(url)
  } catch (cause) {
    throw typeError(`only file: URLs can be loaded, not ${show(String(url))}`, {
      code: 'ERR_SOURCE',
      expected: 'a file: URL',
      received: String(url),
      cause
    })
  }
}

/** @param {unknown} value @returns {value is Uint8Array} */
function isBytes(value) {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
}

module.exports = { readPath, readSource }
