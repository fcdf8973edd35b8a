'use strict'

const { basename } = require('node:path')

const binding = require('../binding.js')
const { call } = require('./call.js')
const { readDataset } = require('./dataset.js')
const { any, callback, checkOptions, integer } = require('./options.js')
const { withProgress } = require('./progress.js')
const { table } = require('./table.js')
const { withTarget } = require('./target.js')

const OPTIONS = { iterations: integer(1), warmup: integer(0), signal: any, onProgress: callback }

/** @typedef {import('../index').InspectReportJson} Json */

/** What `inspect` found. */
class InspectReport {
  #report

  /** @param {Json} report */
  constructor(report) {
    this.#report = report
  }

  get modules() {
    return this.#report.modules
  }

  /** AITune's way of asking. */
  getModules() {
    return this.modules
  }

  describe() {
    const head = ['module', 'calls', 'mean ms', 'p50 ms', 'p90 ms', 'p99 ms', 'share', 'operators', 'inputs']
    const rows = this.modules.map((module) => [
      module.name,
      String(module.calls),
      ...[module.meanMs, module.p50Ms, module.p90Ms, module.p99Ms].map((value) => value.toFixed(3)),
      `${(module.share * 100).toFixed(0)} %`,
      String(module.onnxGraph.operators.length),
      module.inputTypes[0].join(' ') + (module.inputTypes.length > 1 ? ` and ${module.inputTypes.length - 1} more` : '')
    ])
    return table(head, rows)
  }

  toJSON() {
    return this.#report
  }
}

/**
 * @param {import('../index').Target} target @param {import('../index').Dataset} dataset
 * @param {import('../index').InspectOptions} [options]
 */
async function inspect(target, dataset, options) {
  const { iterations = 10, warmup = 5, signal, onProgress } = checkOptions(options, OPTIONS)
  return withTarget(target, signal, async (native, module) => {
    const samples = await readDataset(native, module.graphInfo.inputs, dataset, iterations + warmup, signal)
    const total = iterations + warmup
    const start = performance.now()
    /** @param {number} calls @returns {import('../index').Progress} */
    const read = (calls) => ({
      phase: calls <= warmup ? 'warmup' : 'measure',
      candidate: '',
      index: calls,
      total,
      fraction: calls / total,
      message: `call ${calls} of ${total}`,
      etaMs: ((performance.now() - start) / calls) * (total - calls)
    })
    const json = await withProgress(signal, onProgress, read, (listener, both) =>
      call(both, (cancel) => binding.inspect(native, samples, JSON.stringify({ iterations, warmup }), listener, cancel))
    )
    const report = JSON.parse(json)
    const { modelPath } = module.graphInfo
    report.modules.forEach((/** @type {any} */ one) => {
      one.name = modelPath === null ? 'model' : basename(modelPath)
    })
    return new InspectReport(report)
  })
}

module.exports = { InspectReport, inspect }
