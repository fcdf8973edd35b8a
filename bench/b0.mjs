// B0: what bounds every call that leaves the event loop.
import { medianOf } from './statistics.mjs'

const ROUNDS = 4000

export default {
  id: 'B0',
  title: 'Waking a thread',
  how:
    'Two threads that sleep wake each other in turn, in Rust, by eventfd; medians there and back. A call that another ' +
    'thread runs costs as much on top of the run, unless one of the two is awake anyway. Where the scheduler puts the ' +
    'two decides which of the figures counts, and on a virtual machine an idle processor is slow to wake.',

  /** @param {import('./main.mjs').Context} context */
  async run({ raw }) {
    const cases = []
    for (const [placement, name] of /** @type {const} */ ([
      ['free', 'where the scheduler puts them'],
      ['oneProcessor', 'on one processor'],
      ['twoProcessors', 'on two processors']
    ])) {
      const micros = await raw.wake(placement, ROUNDS)
      if (micros.length > 0) cases.push({ name, unit: 'µs', ours: medianOf(micros) })
    }
    return { cases }
  }
}
