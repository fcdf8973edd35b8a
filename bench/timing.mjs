// Times short calls in interleaved rounds.
import { median, randomNumbers, shuffled } from './statistics.mjs'

/**
 * Who is timed: it makes calls for `warmupMs`, then gives for each of `chunks` the microseconds a call of `chunk` took.
 * @typedef {(chunk: number, chunks: number, warmupMs: number) => Promise<number[]>} Timer
 */

// So many calls are timed together that reading the clock does not count, and so few that one disturbance spoils no more
// than a small part of a round: the round's figure is the median of its chunks.
const CHUNK_MICROS = 100
const ROUND_MICROS = 15_000
const WARMUP_MS = 3

/** @param {() => unknown} call @returns {Timer} */
export const timerOfSync = (call) => async (chunk, chunks, warmupMs) => {
  for (const end = performance.now() + warmupMs; performance.now() < end;) call()
  return Array.from({ length: chunks }, () => {
    const start = performance.now()
    for (let index = 0; index < chunk; index++) call()
    return ((performance.now() - start) * 1000) / chunk
  })
}

/** One call after another. @param {() => Promise<unknown>} call @returns {Timer} */
export const timerOfAsync = (call) => async (chunk, chunks, warmupMs) => {
  for (const end = performance.now() + warmupMs; performance.now() < end;) await call()
  const times = []
  for (let round = 0; round < chunks; round++) {
    const start = performance.now()
    for (let index = 0; index < chunk; index++) await call()
    times.push(((performance.now() - start) * 1000) / chunk)
  }
  return times
}

/**
 * Microseconds a call of each timer in each round. Within a round all take turns, in an order that changes.
 * @template {string} K
 * @param {Record<K, Timer>} timers @param {number} rounds @returns {Promise<Record<K, number[]>>}
 */
export async function timeInRounds(timers, rounds) {
  const random = randomNumbers(1)
  const names = /** @type {K[]} */ (Object.keys(timers))
  const plans = new Map()
  for (const name of names) {
    const micros = median(await timers[name](1, 20, 50))
    const chunk = clamp(CHUNK_MICROS / micros, 1, 100)
    plans.set(name, { chunk, chunks: clamp(ROUND_MICROS / (micros * chunk), 3, 150) })
  }
  const results = /** @type {Record<K, number[]>} */ (Object.fromEntries(names.map((name) => [name, []])))
  for (let round = 0; round < rounds; round++) {
    for (const name of shuffled(names, random)) {
      const { chunk, chunks } = plans.get(name)
      results[name].push(median(await timers[name](chunk, chunks, WARMUP_MS)))
    }
  }
  return results
}

/** @param {number} value @param {number} low @param {number} high */
const clamp = (value, low, high) => Math.round(Math.min(high, Math.max(low, value)))
