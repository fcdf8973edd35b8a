'use strict'

const binding = require('../binding.js')
const { call, checkSignal, unlessAborted } = require('./call.js')
const { any, checkOptions } = require('./options.js')
const { readSource } = require('./source.js')

/**
 * @param {import('../index').ModelSource} source @param {import('../index').ReadGraphOptions} [options]
 * @returns {Promise<import('../index').GraphInfo>}
 */
async function readGraph(source, options) {
  const { signal, externalData } = checkOptions(options, { signal: any, externalData: any })
  const { path, bytes, external, folder } = readSource(source, externalData)
  if (signal !== undefined) checkSignal(signal)
  // Reading takes milliseconds, so nothing stops it; who aborts is only kept from waiting.
  const json = await unlessAborted(
    signal,
    call(undefined, () => binding.readGraph(path, bytes, external, folder))
  )
  return JSON.parse(json)
}

module.exports = { readGraph }
