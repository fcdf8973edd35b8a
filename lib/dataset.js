'use strict'

const { NativeDataset } = require('../binding.js')
const { checkSignal, unlessAborted } = require('./call.js')
const { AbortError, OnnxTuneError, typeError } = require('./errors.js')
const { planInputs, prepare } = require('./inputs.js')
const { show } = require('./options.js')

/** @typedef {import('../index').Inputs} Inputs */
/** @typedef {Inputs | PromiseLike<Inputs>} Sample */

/**
 * Copies the samples of a dataset into native memory.
 * @param {import('../binding').NativeModule} native
 * @param {readonly import('../index').ValueInfo[]} inputs
 * @param {import('../index').Dataset} dataset
 * @param {number} limit samples taken at the most
 * @param {AbortSignal | undefined} signal
 */
async function readDataset(native, inputs, dataset, limit, signal) {
  if (signal !== undefined) checkSignal(signal)
  if (signal?.aborted) throw new AbortError(signal.reason)
  const iterator = iterate(dataset)
  const plans = planInputs(inputs)
  const samples = new NativeDataset()
  let count = 0
  let open = true
  let last = performance.now()
  try {
    while (count < limit) {
      // One that ends or throws has closed itself.
      open = false
      const { done, value } = await unlessAborted(signal, next(iterator))
      open = !done
      if (done) break
      addSample(samples, native, plans, value, count++)
      // A dataset in memory resolves at once, for ever; others want their turn of the event loop.
      if (performance.now() - last > 5) {
        await new Promise((resolve) => setImmediate(resolve))
        last = performance.now()
      }
    }
  } catch (error) {
    // A generator that is left early may have something to close. After an abort it may never answer.
    if (signal?.aborted) close(iterator).catch(() => {})
    else if (open) await close(iterator).catch(() => {})
    throw error
  }
  if (open) await close(iterator)
  if (count === 0) {
    throw new OnnxTuneError('the dataset is empty; at least one sample is needed', { code: 'ERR_DATASET_EMPTY' })
  }
  return samples
}

/**
 * @param {any} dataset anything
 * @returns {Iterator<Sample> | AsyncIterator<Sample>}
 */
function iterate(dataset) {
  const make = dataset?.[Symbol.asyncIterator] ?? dataset?.[Symbol.iterator]
  if (typeof make !== 'function' || typeof dataset === 'string' || ArrayBuffer.isView(dataset)) {
    throw typeError('a dataset is an array, an iterable or an async iterable of samples', {
      code: 'ERR_DATASET',
      expected: 'iterable of samples',
      received: dataset === null ? 'null' : typeof dataset
    })
  }
  try {
    return make.call(dataset)
  } catch (cause) {
    throw datasetFault(cause)
  }
}

/** @param {any} iterator */
async function next(iterator) {
  try {
    const { done, value } = await iterator.next()
    return { done, value: await value }
  } catch (cause) {
    throw datasetFault(cause)
  }
}

/** @param {any} iterator */
async function close(iterator) {
  try {
    await iterator.return?.()
  } catch (cause) {
    throw datasetFault(cause)
  }
}

/** @param {unknown} cause */
function datasetFault(cause) {
  return new OnnxTuneError(`the dataset threw: ${cause instanceof Error ? cause.message : show(cause)}`, {
    code: 'ERR_DATASET',
    cause
  })
}

/**
 * @param {NativeDataset} samples @param {import('../binding').NativeModule} native
 * @param {readonly import('./inputs').Plan[]} plans @param {Inputs} value @param {number} index
 */
function addSample(samples, native, plans, value, index) {
  try {
    const { data, dims } = prepare(plans, value, { items: true })
    samples.add(native, data, dims)
  } catch (error) {
    const fault = /** @type {any} */ (error)
    throw new OnnxTuneError(`sample ${index}: ${fault.message}`, {
      code: 'ERR_DATASET_SAMPLE',
      input: fault.input,
      expected: fault.expected,
      received: fault.received,
      cause: error
    })
  }
}

module.exports = { readDataset }
