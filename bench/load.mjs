// Load on a module, and how the event loop fares meanwhile.

/**
 * Keeps `inFlight` calls going, and gives what was done between `warmupMs` and `warmupMs + windowMs`.
 * @param {() => Promise<unknown>} call @param {number} inFlight @param {number} windowMs @param {number} warmupMs
 */
export async function closedLoop(call, inFlight, windowMs, warmupMs) {
  const from = performance.now() + warmupMs
  const until = from + windowMs
  /** @type {number[]} */
  const latencies = []
  const client = async () => {
    for (let start = performance.now(); start < until;) {
      await call()
      const end = performance.now()
      if (end >= from && end < until) latencies.push(end - start)
      start = end
    }
  }
  await Promise.all(Array.from({ length: inFlight }, client))
  return { perSecond: (latencies.length * 1000) / windowMs, latencies }
}

/** Watches a timer of 1 ms. */
export class Ticks {
  #start = performance.now()
  #last = this.#start
  /** @type {number[]} milliseconds between one tick and the next */
  #gaps = []
  #timer = setInterval(() => this.#tick(), 1)

  #tick() {
    const now = performance.now()
    this.#gaps.push(now - this.#last)
    this.#last = now
  }

  /** Ends the watch, and tells how it went. */
  stop() {
    clearInterval(this.#timer)
    const delivered = this.#gaps.length
    // What held the loop up to now counts too.
    this.#tick()
    // A tick was due every millisecond: one that came after 10 ms stands for ten, which were 9, 8, … and 0 ms late.
    const late = this.#gaps.flatMap((gap) =>
      Array.from({ length: Math.max(1, Math.floor(gap)) }, (_, index) => Math.max(0, gap - 1 - index))
    )
    return {
      largestMs: this.#gaps.reduce((largest, gap) => Math.max(largest, gap)),
      late,
      share: delivered / (this.#last - this.#start)
    }
  }
}
