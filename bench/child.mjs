// What is measured in a process of its own: `node --expose-gc child.mjs WHAT LIBRARY`, which prints JSON. Imports of
// libraries happen inside, since they are part of what is measured.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { load, open } from './libraries.mjs'
import { Ticks } from './load.mjs'
import * as models from './models.mjs'

const MIB = 2 ** 20
const [, , what, library, ...rest] = process.argv

const programs = {
  /** Import, load and first run. */
  async load(name) {
    const model = models[name](16)
    const before = process.memoryUsage.rss()
    const phases = {}
    const during = async (phase, work) => {
      const ticks = new Ticks()
      const start = performance.now()
      const result = await work()
      phases[phase] = { ms: performance.now() - start, gapMs: ticks.stop().largestMs }
      return result
    }
    await during('import', () => open(library))
    const loaded = await during('load', () => load(library, model))
    const outputs = await during('run', loaded.run)
    if (Object.values(outputs)[0].data.length === 0) throw new Error('no output')
    const peak = peakRss()
    return { phases, peak: peak / MIB, perFile: peak / model.bytes, grownPerFile: (peak - before) / model.bytes }
  },

  /** Processor time of all threads while nothing is asked of a module that has just run. */
  async idle(seconds) {
    const loaded = await load(library, models.minilm(16))
    await loaded.run()
    const before = process.cpuUsage()
    await sleep(seconds * 1000)
    const { user, system } = process.cpuUsage(before)
    await loaded.dispose()
    return { cpuMs: (user + system) / 1000 }
  },

  /** Memory over many runs, some at a time. */
  async runs(count, samples) {
    const loaded = await load(library, models.identity())
    const sizes = await sampled(samples, async () => {
      for (let left = count / samples; left > 0; left -= 10) await Promise.all(Array.from({ length: 10 }, loaded.run))
    })
    await loaded.dispose()
    return sizes
  },

  /** Memory over many loads, each with a run. */
  async loads(count, samples) {
    return sampled(samples, async () => {
      for (let left = count / samples; left > 0; left--) {
        const loaded = await load(library, models.resnet18())
        await loaded.run()
        await loaded.dispose()
      }
    })
  }
}

/** MiB that the process holds after each of `count` rounds, without what the garbage collector would free. */
async function sampled(count, round) {
  const sizes = []
  for (let index = 0; index < count; index++) {
    await round()
    globalThis.gc()
    // Finalisers run between turns.
    await sleep(20)
    globalThis.gc()
    sizes.push(process.memoryUsage.rss() / MIB)
  }
  return { sizes, peak: peakRss() / MIB }
}

/** Bytes. Linux counts in `maxRSS` what the parent held when it started this process, but not in `VmHWM`. */
function peakRss() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024
}

console.log(
  JSON.stringify(await programs[what](...rest.map((text) => (Number.isNaN(Number(text)) ? text : Number(text)))))
)
