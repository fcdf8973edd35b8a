'use strict'

const binding = require('../binding.js')
const { call } = require('./call.js')
const { any, checkOptions } = require('./options.js')
const { readSource } = require('./source.js')

/**
 * @param {import('../index').ModelSource} source @param {import('../index').ReadGraphOptions} [options]
 * @returns {Promise<import('../index').GraphInfo>}
 */
async function readGraph(source, options) {
  const { signal, externalData } = checkOptions(options, { signal: any, externalData: any })
  const { path, bytes, external } = readSource(source, externalData)
  return JSON.parse(await call(signal, () => binding.readGraph(path, bytes, external)))
}

module.exports = { readGraph }
