'use strict'

const { fileURLToPath } = require('node:url')

const { typeError } = require('./errors.js')
const { show, wrong } = require('./options.js')

/** @typedef {{ path: string | undefined, bytes: Uint8Array | null, external: [string, Uint8Array][] | null }} Source */

/**
 * A model's path or bytes, as native code takes them.
 * @param {unknown} source @param {Record<string, Uint8Array> | undefined} [externalData] @returns {Source}
 */
function readSource(source, externalData) {
  const path = readPath(source)
  if (externalData !== undefined && (typeof externalData !== 'object' || externalData === null)) {
    throw wrong(externalData, 'options.externalData', 'an object of Uint8Arrays by location')
  }
  const external = externalData === undefined ? null : Object.entries(externalData)
  if (path !== undefined) {
    if (external !== null) {
      throw typeError('externalData goes with a model given as bytes; a file finds its own beside it', {
        code: 'ERR_OPTION',
        received: 'externalData'
      })
    }
    return { path, bytes: null, external: null }
  }
  for (const [location, data] of external ?? []) {
    if (!isBytes(data)) {
      throw typeError(`externalData[${show(location)}] must be a Uint8Array`, {
        code: 'ERR_OPTION',
        expected: 'Uint8Array',
        received: typeof data
      })
    }
  }
  if (isBytes(source)) return { path: undefined, bytes: source, external }
  if (source instanceof ArrayBuffer) return { path: undefined, bytes: new Uint8Array(source), external }
  throw typeError(`a model is given by path, file: URL or bytes, not by ${show(source)}`, {
    code: 'ERR_SOURCE',
    expected: 'string, URL or Uint8Array',
    received: source === null ? 'null' : typeof source
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
