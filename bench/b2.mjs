// B2: how the event loop fares while models run.
import { setTimeout as sleep } from 'node:timers/promises'

import { LIBRARIES, checkSame, load } from './libraries.mjs'
import { Ticks, closedLoop } from './load.mjs'
import { bert6 } from './models.mjs'
import { medianOf, quantile, randomNumbers, ratioOf, shuffled } from './statistics.mjs'

const ROUNDS = 7
const WINDOW_MS = 1200
const IN_FLIGHT = 8

export default {
  id: 'B2',
  title: 'Health of the event loop',
  how:
    'A BERT-like encoder of 90 MB on 96 tokens, 8 calls in flight, both libraries with their defaults. A timer of 1 ms ' +
    'runs beside; a tick that comes late stands for all that were due since the one before.',

  async run() {
    const model = bert6(96)
    const loaded = new Map()
    for (const library of LIBRARIES) loaded.set(library, await load(library, model))
    const [ours, peer] = await Promise.all(LIBRARIES.map(async (library) => (await loaded.get(library).run()) ?? {}))
    checkSame('bert6', ours.last_hidden_state.data, peer.last_hidden_state.data)

    const random = randomNumbers(2)
    const contenders = { idle: () => sleep(WINDOW_MS) }
    for (const library of LIBRARIES) {
      contenders[library] = () => closedLoop(loaded.get(library).run, IN_FLIGHT, WINDOW_MS, 0)
    }
    const seen = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, work] of shuffled(Object.entries(contenders), random)) {
        if (name === 'idle' && round > 1) continue
        const ticks = new Ticks()
        const done = await work()
        const { late, largestMs, share } = ticks.stop()
        seen[name].push({ p99: quantile(late, 0.99), largestMs, share: share * 100, perSecond: done?.perSecond })
        // Threads that spin after their last job must not count against the next.
        await sleep(100)
      }
    }
    for (const one of loaded.values()) await one.dispose()

    const row = (name, unit, key, target) => {
      const [ours, others] = LIBRARIES.map((library) => seen[library].map((round) => round[key]))
      const other = { name: 'peer', value: medianOf(others) }
      return { name, unit, ours: medianOf(ours), other, ratio: ratioOf(ours, others), target }
    }
    const idle = medianOf(seen.idle.map(({ share }) => share))
    return {
      cases: [
        row('delay of the event loop, p99', 'ms', 'p99', { of: 'ratio', atMost: 0.2 }),
        row('longest time that it was held', 'ms', 'largestMs'),
        row('ticks of 1 ms delivered', '%', 'share', { of: 'ours', atLeast: 70 }),
        { name: 'ticks of 1 ms delivered by an idle process', unit: '%', ours: idle },
        row('throughput meanwhile', '/s', 'perSecond')
      ]
    }
  }
}
