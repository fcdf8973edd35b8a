'use strict'

const { NativeDataset } = require('../binding.js')
const { AbortError, OnnxTuneError, typeError } = require('./errors.js')
const { prepare } = require('./inputs.js')
const { show } = require('./options.js')

/**
 * Copies the samples of a dataset into native memory.
 * @param {import('../binding').NativeModule} native
 * @param {readonly import('../index').ValueInfo[]} inputs
 * @param {any} dataset an array, iterable or async iterable of samples
 * @param {number} limit samples taken at the most
 * @param {AbortSignal | undefined} signal
 */
async function readDataset(native, inputs, dataset, limit, signal) {
  const iterator = iterate(dataset)
  const samples = new NativeDataset()
  let count = 0
  let last = performance.now()
  try {
    while (count < limit) {
      const { done, value } = await next(iterator)
      if (signal?.aborted) throw new AbortError(signal.reason)
      if (done) break
      addSample(samples, native, inputs, value, count++)
      // A dataset in memory resolves at once, for ever; others want their turn of the event loop.
      if (performance.now() - last > 5) {
        await new Promise((resolve) => setImmediate(resolve))
        last = performance.now()
      }
    }
  } finally {
    // A generator that is left early may have something to close.
    await iterator.return?.()
  }
  if (count === 0) {
    throw new OnnxTuneError('the dataset is empty; at least one sample is needed', { code: 'ERR_DATASET_EMPTY' })
  }
  return samples
}

/** @param {any} dataset @returns {any} */
function iterate(dataset) {
  const make = dataset?.[Symbol.asyncIterator] ?? dataset?.[Symbol.iterator]
  if (typeof make !== 'function' || typeof dataset === 'string' || ArrayBuffer.isView(dataset)) {
    throw typeError('a dataset is an array, an iterable or an async iterable of samples', {
      code: 'ERR_DATASET', expected: 'iterable of samples', received: dataset === null ? 'null' : typeof dataset
    })
  }
  return make.call(dataset)
}

/** @param {any} iterator */
async function next(iterator) {
  try {
    const { done, value } = await iterator.next()
    return { done, value: await value }
  } catch (cause) {
    throw new OnnxTuneError(`the dataset threw: ${cause instanceof Error ? cause.message : show(cause)}`, {
      code: 'ERR_DATASET', cause
    })
  }
}

/** @param {NativeDataset} samples @param {any} native @param {any} inputs @param {any} value @param {number} index */
function addSample(samples, native, inputs, value, index) {
  try {
    const { data, dims } = prepare(inputs, value, true)
    samples.add(native, data, dims)
  } catch (error) {
    const fault = /** @type {any} */ (error)
    throw new OnnxTuneError(`sample ${index}: ${fault.message}`, {
      code: 'ERR_DATASET_SAMPLE', input: fault.input, expected: fault.expected, received: fault.received, cause: error
    })
  }
}

module.exports = { readDataset }
