'use strict'

const binding = require('../binding.js')
const { call } = require('./call.js')
const { readDataset } = require('./dataset.js')
const { any, above, arrayOf, atLeast, callback, checkOptions, instance, integer, oneOf } = require('./options.js')
const { withProgress } = require('./progress.js')
const { MaxThroughputStrategy, OneBackendStrategy } = require('./strategies.js')
const { withTarget } = require('./target.js')
const { TunedModule } = require('./tuned.js')

const OPTIONS = {
  strategy: instance(OneBackendStrategy, MaxThroughputStrategy),
  batchSizes: arrayOf(integer(1, 1 << 20)),
  maxBatchesPerBatchSize: integer(1),
  maxSamples: integer(1),
  accuracy: (/** @type {any} */ value, /** @type {string} */ name) => {
    checkOptions(value, { rtol: atLeast(0), atol: atLeast(0) }, name)
  },
  performanceValidation: oneOf(['enabled', 'diagnostic', 'disabled']),
  budgetMs: above(0),
  load: (/** @type {any} */ value, /** @type {string} */ name) => {
    checkOptions(value, { concurrency: integer(1, 4096) }, name)
  },
  seed: integer(0),
  signal: any,
  onProgress: callback
}

/**
 * @param {import('../index').Target} target @param {import('../index').Dataset} dataset
 * @param {import('../index').TuneOptions} [options]
 */
async function tune(target, dataset, options) {
  const given = checkOptions(options, OPTIONS)
  const { signal, onProgress, maxSamples = 1024, load, strategy = new MaxThroughputStrategy() } = given
  const native = JSON.stringify({
    strategy,
    batchSizes: given.batchSizes,
    maxBatchesPerBatchSize: given.maxBatchesPerBatchSize ?? 16,
    accuracy: given.accuracy ?? {},
    performanceValidation: given.performanceValidation ?? 'enabled',
    budgetMs: given.budgetMs ?? 30_000,
    concurrency: load?.concurrency,
    seed: given.seed ?? 1
  })
  return withTarget(target, signal, async (module, { graphInfo }) => {
    const samples = await readDataset(module, graphInfo.inputs, dataset, maxSamples, signal)
    const tuned = await withProgress(
      signal,
      onProgress,
      (event) => event,
      (listener, both) => call(both, (cancel) => binding.tune(module, samples, native, listener, cancel))
    )
    return TunedModule.fromNative(tuned)
  })
}

module.exports = { tune }
