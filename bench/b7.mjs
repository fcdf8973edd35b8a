// B7: what a module costs while nothing is asked of it, and whether memory grows with use.
import { child } from './children.mjs'
import { LIBRARIES } from './libraries.mjs'
import { median, medianOf } from './statistics.mjs'

const IDLE_ROUNDS = 3
const IDLE_SECONDS = 5
const RUNS = 10_000
const LOADS = 100
const SAMPLES = 20

export default {
  id: 'B7',
  title: 'Idling and growth',
  how:
    'Processor time of all threads in the 5 s after load and first run of MiniLM. Memory after each twentieth of 10,000 ' +
    'runs (64 KiB in and out, 10 in flight) and of 100 times load, run and dispose (ResNet-18, 47 MB), after a garbage ' +
    'collection. Growth is the smaller of 20 times the median step between samples and of what the median of the last ' +
    'eight has over that of the eight before. Peak is that of the process at any time.',

  async run() {
    const idle = Object.fromEntries(LIBRARIES.map((library) => [library, []]))
    for (let round = 0; round < IDLE_ROUNDS; round++) {
      // Together: idle processes do not disturb each other.
      await Promise.all(
        LIBRARIES.map(async (library) => idle[library].push((await child('idle', library, IDLE_SECONDS)).cpuMs))
      )
    }
    const [ours, others] = LIBRARIES.map((library) => medianOf(idle[library]))
    const target = { of: 'ours', atMost: 100 }
    const idling = {
      name: 'processor time in 5 idle seconds',
      unit: 'ms',
      ours,
      other: { name: 'peer', value: others }
    }
    return {
      cases: [
        { ...idling, target },
        ...(await growth('runs', RUNS, '10,000 runs')),
        ...(await growth('loads', LOADS, '100 loads'))
      ]
    }
  }
}

/** @param {string} program @param {number} count @param {string} label */
async function growth(program, count, label) {
  const seen = []
  for (const library of LIBRARIES) seen.push(await child(program, library, count, SAMPLES))
  const grown = seen.map(({ sizes }) => growthOf(sizes))
  const [last, otherLast] = seen.map(({ sizes }) => median(sizes.slice(-8)))
  const row = (name, unit, [ours, other], target) => ({
    name: `${label}: ${name}`,
    unit,
    ours: single(ours),
    other: { name: 'peer', value: single(other) },
    target
  })
  return [
    row('memory at the end', 'MiB', [last, otherLast]),
    // Flat: what allocators and the engine's heap move by themselves, and no more.
    row('growth', 'MiB', grown, { of: 'ours', atMost: Math.max(1, 0.02 * last) }),
    row('peak', 'MiB', [seen[0].peak, seen[1].peak])
  ]
}

/**
 * A leak shows in every step and from one part to the next; allocators and engines jump once in a while, or go up and
 * down, which shows in one of the two.
 * @param {number[]} sizes
 */
function growthOf(sizes) {
  const steps = sizes.slice(1).map((size, index) => size - sizes[index])
  return Math.min(sizes.length * median(steps), median(sizes.slice(-8)) - median(sizes.slice(-16, -8)))
}

const single = (/** @type {number} */ value) => ({ value, low: value, high: value })
