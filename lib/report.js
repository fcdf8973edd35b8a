'use strict'

const { table } = require('./table.js')

/** All that a tune did and found. */
class TuneReport {
  #json

  /** @param {any} json */
  constructor(json) {
    this.#json = json
  }

  get candidates() {
    return this.#json.candidates
  }

  /** Index of the winner in `candidates`. */
  get winner() {
    return this.#json.winner
  }

  get verdict() {
    return this.#json.verdict
  }

  /** A table of the candidates, and the verdict. */
  describe() {
    const { workload } = this.#json
    const head = ['', 'candidate', 'status', 'median ms', 'p99 ms', 'items/s', 'ratio', 'interval', 'max error', 'reason']
    const rows = this.candidates.map((/** @type {any} */ { name, status, reason, timing, accuracy }, /** @type {number} */ index) => [
      index === this.winner ? '*' : '',
      index === 0 ? `${name} (baseline)` : name,
      status,
      timing?.medianMs.toFixed(3) ?? '',
      timing?.p99Ms.toFixed(3) ?? '',
      timing?.throughput.toFixed(1) ?? '',
      timing === null ? '' : `${timing.ratio.median.toFixed(2)}x`,
      timing === null ? '' : `${timing.ratio.low.toFixed(2)}-${timing.ratio.high.toFixed(2)}`,
      accuracy?.maxAbsError.toExponential(1) ?? '',
      index === this.winner ? 'chosen' : reason
    ])
    const clients = `${workload.concurrency} client${workload.concurrency === 1 ? '' : 's'}`
    return [
      table(head, rows),
      '',
      `batch size ${workload.measuredBatchSize} timed (${workload.batchSizes.join(', ')} verified), ${clients}, ` +
        `${workload.samples} samples, ${(this.#json.elapsedMs / 1000).toFixed(1)} s`,
      this.verdict
    ].join('\n')
  }

  toJSON() {
    return this.#json
  }
}

module.exports = { TuneReport }
