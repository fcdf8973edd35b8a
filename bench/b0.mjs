// B0: no row of its own right, but what bounds every call that leaves the event loop.
import { medianOf, quantile } from './statistics.mjs'

const ROUNDS = 5000

export default {
  id: 'B0',
  title: 'Waking a thread',
  how:
    'Two threads that sleep wake each other in turn, in Rust, by eventfd. A call that another thread runs costs as much ' +
    'on top of the run, unless one of the two is awake anyway.',

  /** @param {import('./main.mjs').Context} context */
  async run({ raw }) {
    const micros = await raw.wake(ROUNDS)
    const p99 = quantile(micros, 0.99)
    return {
      cases: [
        { name: 'there and back, median', unit: 'µs', ours: medianOf(micros) },
        { name: 'there and back, p99', unit: 'µs', ours: { value: p99, low: p99, high: p99 } }
      ]
    }
  }
}
