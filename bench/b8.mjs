// B8: throughput and latency as the load grows. There should be no cliff.
import { availableParallelism } from 'node:os'

import { LIBRARIES, checkSame, load } from './libraries.mjs'
import { closedLoop } from './load.mjs'
import { cnn, mlp128 } from './models.mjs'
import { estimate, median, medianOf, quantile, randomNumbers, ratioOf, shuffled } from './statistics.mjs'

const ROUNDS = 9
const WINDOW_MS = 200
const WARMUP_MS = 40
const IN_FLIGHT = [1, 2, 4, 8, 16, 32, 64, 128, 256]
const BATCHES = [1, 2, 4, 8, 16, 32, 64]

export default {
  id: 'B8',
  title: 'Scale',
  how:
    'Calls are made again as soon as they are answered, both libraries with their defaults. A cliff is where throughput ' +
    'falls as the load grows: the worst is the lowest throughput divided by the best at a smaller load.',

  async run() {
    const cores = availableParallelism()
    const sessions = [...new Set([1, 2, 4, 8, 16, 32, 64, 128].filter((count) => count < cores)), cores]
    const series = []
    for (const [name, model] of [
      ['MLP 128', mlp128(1)],
      ['CNN', cnn()]
    ]) {
      const one = await modules(model, 1)
      const at = (inFlight) => ({ inFlight, calls: one })
      series.push({ name, sweep: 'calls in flight', ...(await sweep(IN_FLIGHT, at, () => 1)) })
      await disposeAll(one)
    }

    const many = await modules(cnn(), cores)
    const some = (count) => {
      const calls = Object.fromEntries(LIBRARIES.map((library) => [library, many[library].slice(0, count)]))
      return { inFlight: 8 * count, calls }
    }
    series.push({ name: 'CNN, 8 in flight each', sweep: 'sessions', ...(await sweep(sessions, some, () => 1)) })
    await disposeAll(many)

    const batched = new Map()
    for (const batch of BATCHES) batched.set(batch, await modules(mlp128(batch), 1))
    const rows = (batch) => ({ inFlight: 4, calls: batched.get(batch) })
    series.push({
      name: 'MLP 128, 4 in flight',
      sweep: 'rows a call',
      ...(await sweep(BATCHES, rows, (batch) => batch))
    })
    for (const one of batched.values()) await disposeAll(one)

    const cases = series.map(({ name, sweep, cliffs: [ours, other] }) => ({
      name: `${name}: worst of all numbers of ${sweep}`,
      unit: '%',
      ours,
      other: { name: 'peer', value: other },
      target: { of: 'ours', atLeast: 90 }
    }))
    return { cases, series: series.map(({ cliffs: _, ...one }) => one) }
  }
}

/** The model loaded by both libraries, `count` times each. @param {import('./models.mjs').Model} model @param {number} count */
async function modules(model, count) {
  const loaded = {}
  for (const library of LIBRARIES) {
    loaded[library] = []
    for (let index = 0; index < count; index++) loaded[library].push(await load(library, model))
  }
  const [ours, peer] = await Promise.all(LIBRARIES.map((library) => loaded[library][0].run()))
  for (const name of Object.keys(ours)) checkSame(name, ours[name].data, peer[name].data)
  return loaded
}

const disposeAll = (loaded) => Promise.all(LIBRARIES.flatMap((library) => loaded[library].map((one) => one.dispose())))

/**
 * Throughput and p99 of both libraries at each level of load.
 * @param {number[]} levels
 * @param {(level: number) => { inFlight: number, calls: Record<string, import('./libraries.mjs').Loaded[]> }} setting
 * @param {(level: number) => number} items what a call counts
 */
async function sweep(levels, setting, items) {
  const random = randomNumbers(8)
  const cells = levels.flatMap((level) => LIBRARIES.map((library) => ({ level, library })))
  const seen = new Map(cells.map(({ level, library }) => [`${library} ${level}`, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const { level, library } of shuffled(cells, random)) {
      const { inFlight, calls } = setting(level)
      let next = 0
      const call = () => calls[library][next++ % calls[library].length].run()
      const { perSecond, latencies } = await closedLoop(call, inFlight, WINDOW_MS, WARMUP_MS)
      seen.get(`${library} ${level}`).push({ perSecond: perSecond * items(level), p99: quantile(latencies, 0.99) })
    }
  }
  const rounds = (library, level, key) => seen.get(`${library} ${level}`).map((round) => round[key])
  const points = levels.map((level) => {
    const [ours, other] = LIBRARIES.map((library) => ({
      perSecond: medianOf(rounds(library, level, 'perSecond')),
      p99Ms: medianOf(rounds(library, level, 'p99'))
    }))
    const [mine, theirs] = LIBRARIES.map((library) => rounds(library, level, 'perSecond'))
    return { level, ours, other, ratio: ratioOf(mine, theirs) }
  })
  const cliffs = LIBRARIES.map((library) => cliff(levels.map((level) => rounds(library, level, 'perSecond'))))
  return { points, cliffs }
}

/**
 * The lowest throughput in per cent of the best at a smaller load; 100 when it only grows.
 * @param {number[][]} throughputs by level, then by round
 */
function cliff(throughputs) {
  const rounds = throughputs[0].map((_, round) => throughputs.map((level) => level[round]))
  return estimate(rounds, (drawn) => {
    let best = 0
    let worst = 1
    for (let level = 0; level < throughputs.length; level++) {
      const here = median(drawn.map((round) => round[level]))
      best = Math.max(best, here)
      worst = Math.min(worst, here / best)
    }
    return worst * 100
  })
}
