'use strict'

const { table } = require('./table.js')

/** Characters of a reason that the table shows. */
const LONGEST_REASON = 26

/** @typedef {import('../index').TuneReportJson} Json */
/** @typedef {import('../index').CandidateReport} Candidate */

/** All that a tune did and found. */
class TuneReport {
  #json

  /** @param {Json} json */
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
    const { workload, elapsedMs } = this.#json
    const head = ['candidate', 'status', 'median', 'p99', 'items/s', 'ratio', 'interval', 'error', 'reason']
    const { shared, names } = shortNames(this.candidates.map(({ name }) => name))
    const rows = this.candidates.map((candidate, index) => [
      names[index],
      candidate.status,
      ...measured(candidate, index === 0),
      index === this.winner ? '<- chosen' : shortReason(candidate)
    ])
    return [
      table(head, rows),
      ...this.#reasons(names),
      '',
      `${shared}times in ms for batch size ${workload.measuredBatchSize} (${workload.batchSizes.join(', ')} verified), ` +
        `${plural(workload.concurrency, 'client')}, ${plural(workload.samples, 'sample')}, ${(elapsedMs / 1000).toFixed(1)} s`,
      this.verdict
    ].join('\n')
  }

  /** The reasons that the table has no room for. @param {string[]} names */
  #reasons(names) {
    /** @type {Map<string, string[]>} */
    const long = new Map()
    this.candidates.forEach((candidate, index) => {
      if (index === this.winner || !shortReason(candidate).endsWith('…')) return
      long.set(candidate.reason, [...(long.get(candidate.reason) ?? []), names[index]])
    })
    const lines = Array.from(
      long,
      ([reason, [name, ...others]]) => `${others.length === 0 ? name : `${others.length + 1} candidates`}: ${reason}`
    )
    return lines.length === 0 ? [] : ['', ...lines]
  }

  toJSON() {
    return this.#json
  }
}

/** The cells that a candidate has figures for, from the median to the error. @param {Candidate} candidate @param {boolean} baseline */
function measured({ timing, accuracy }, baseline) {
  const error = accuracy === null ? '' : accuracy.maxAbsError === 0 ? '0' : accuracy.maxAbsError.toExponential(1)
  if (timing === null) return ['', '', '', '', baseline ? 'baseline' : '', error]
  const { medianMs, p99Ms, throughput, ratio } = timing
  const interval = baseline ? 'baseline' : `${ratio.low.toFixed(2)}-${ratio.high.toFixed(2)}`
  return [
    fourDigits(medianMs),
    fourDigits(p99Ms),
    throughput.toFixed(1),
    `${ratio.median.toFixed(2)}x`,
    interval,
    error
  ]
}

/**
 * Names without the backend where all have the same one, which is said once, and without ONNX Runtime's own level of
 * graph optimisation.
 * @param {readonly string[]} names @returns {{ shared: string, names: string[] }}
 */
function shortNames(names) {
  const backend = names[0].split(', ', 1)[0]
  const same = names.every((name) => name.startsWith(`${backend}, `))
  const settings = names.map((name) => name.replace(/, graph all$/, ''))
  return same
    ? { shared: `${backend}; `, names: settings.map((name) => name.slice(backend.length + 2)) }
    : { shared: '', names: settings }
}

/**
 * The reason as far as the table has room; the figures in it stand in the table already.
 * @param {Candidate} candidate
 */
function shortReason({ status, reason }) {
  const brief = /** @type {string} */ (status === 'SLOWER' ? reason.split('; ').at(-1) : reason).replace(
    / from the winner$|'s throughput$/,
    ''
  )
  return brief.length <= LONGEST_REASON ? brief : `${brief.slice(0, LONGEST_REASON - 1).trimEnd()}…`
}

/** `3.142`, `31.42`, `314.2`, `3142`. @param {number} value */
function fourDigits(value) {
  const whole = Math.trunc(value).toString().length
  return value.toFixed(Math.max(0, 4 - whole))
}

/** @param {number} count @param {string} noun */
function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

module.exports = { TuneReport }
