import { closeSync, openSync, readSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * @typedef {object} Phase
 * @property {string} phase
 * @property {number} gapMs the longest time between two turns of the event loop
 * @property {number | undefined} ownMs what of it the loop's thread spent working; the rest it waited for a processor
 *   or slept. Known on Linux only.
 */

/** Watches how long the event loop is held, phase by phase. */
export class LoopWatch {
  /** @type {Phase[]} */
  phases = []

  /**
   * Runs one phase and notes its longest gap.
   * @template T
   * @param {string} phase @param {() => Promise<T>} work @returns {Promise<T>}
   */
  async during(phase, work) {
    const clock = new ThreadClock()
    const worst = { phase, gapMs: 0, ownMs: clock.read() === undefined ? undefined : 0 }
    let last = { now: performance.now(), own: clock.read() }
    const tick = () => {
      const turn = { now: performance.now(), own: clock.read() }
      if (turn.now - last.now > worst.gapMs) {
        worst.gapMs = turn.now - last.now
        if (turn.own !== undefined) worst.ownMs = turn.own - last.own
      }
      last = turn
    }
    const ticker = setInterval(tick, 1)
    try {
      return await work()
    } finally {
      // What held the loop last is seen at the next turn only.
      await sleep(5)
      clearInterval(ticker)
      clock.close()
      this.phases.push(worst)
    }
  }
}

/** The phase with the longest gap. @param {readonly Phase[]} phases */
export function longest(phases) {
  return phases.reduce((worst, one) => (one.gapMs > worst.gapMs ? one : worst))
}

/** Processor time of the main thread in milliseconds, from the kernel's scheduler. */
class ThreadClock {
  #file = open('/proc/self/schedstat')
  #text = Buffer.alloc(64)

  read() {
    if (this.#file === undefined) return undefined
    const length = readSync(this.#file, this.#text, 0, this.#text.length, 0)
    return Number.parseInt(this.#text.latin1Slice(0, length), 10) / 1e6
  }

  close() {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

function open(path) {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}
