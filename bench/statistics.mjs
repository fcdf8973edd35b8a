// Medians with bootstrap intervals, from numbers that are the same on every run with the same measurements.

/**
 * @typedef {{ value: number, low: number, high: number }} Estimate a median, or what a statistic made of the rounds,
 *   with its 95 % bootstrap interval
 */

const RESAMPLES = 2000

/** The number below which the given part of `numbers` lies. @param {readonly number[]} numbers @param {number} part */
export function quantile(numbers, part) {
  const sorted = Float64Array.from(numbers).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
}

/** @param {readonly number[]} numbers */
export function median(numbers) {
  const sorted = Float64Array.from(numbers).sort()
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * What `statistic` makes of the rounds, and how far it moves when rounds are drawn again from those measured.
 * @template T
 * @param {readonly T[]} rounds @param {(rounds: readonly T[]) => number} statistic @returns {Estimate}
 */
export function estimate(rounds, statistic) {
  const random = randomNumbers(rounds.length)
  const values = Array.from({ length: RESAMPLES }, () =>
    statistic(rounds.map(() => rounds[Math.floor(random() * rounds.length)]))
  )
  return { value: statistic(rounds), low: quantile(values, 0.025), high: quantile(values, 0.975) }
}

/** @param {readonly number[]} rounds */
export const medianOf = (rounds) => estimate(rounds, median)

/** The median of the rounds' own ratios. @param {readonly number[]} ours @param {readonly number[]} others */
export const ratioOf = (ours, others) => medianOf(ours.map((value, round) => value / others[round]))

/** Numbers from 0 to 1 (mulberry32). @param {number} seed */
export function randomNumbers(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A copy in random order. @template T @param {readonly T[]} list @param {() => number} random */
export function shuffled(list, random) {
  const copy = [...list]
  for (let index = copy.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    ;[copy[index], copy[other]] = [copy[other], copy[index]]
  }
  return copy
}
