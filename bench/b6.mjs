// B6: how soon a large model is there, what it costs the event loop, and how much memory.
import { child } from './children.mjs'
import { LIBRARIES } from './libraries.mjs'
import { medianOf, randomNumbers, ratioOf, shuffled } from './statistics.mjs'

const ROUNDS = 9
const MODELS = [
  { name: 'minilm', label: 'MiniLM, 69 MB' },
  { name: 'bert6', label: 'BERT-like, 90 MB' }
]

export default {
  id: 'B6',
  title: 'Loading',
  how:
    'Each time in a new process, both libraries with their defaults, the file in the page cache, 16 tokens. Import is ' +
    'counted, since the one library starts the runtime there and the other at its first load. Peak memory is that of ' +
    'the whole process, Node included.',

  async run() {
    const cases = []
    for (const model of MODELS) cases.push(...(await measure(model)))
    return { cases }
  }
}

/** @param {typeof MODELS[number]} model */
async function measure({ name, label }) {
  const random = randomNumbers(6)
  const seen = Object.fromEntries(LIBRARIES.map((library) => [library, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const library of shuffled(LIBRARIES, random)) seen[library].push(await child('load', library, name))
  }
  const row = (what, unit, value, target) => {
    const [ours, others] = LIBRARIES.map((library) => seen[library].map(value))
    const other = { name: 'peer', value: medianOf(others) }
    return { name: `${label}: ${what}`, unit, ours: medianOf(ours), other, ratio: ratioOf(ours, others), target }
  }
  return [
    row('import, load and first run', 'ms', ({ phases: { import: open, load, run } }) => open.ms + load.ms + run.ms, {
      of: 'ratio',
      atMost: 1
    }),
    row('load and first run alone', 'ms', ({ phases: { load, run } }) => load.ms + run.ms),
    row('event loop held at load and run', 'ms', ({ phases: { load, run } }) => Math.max(load.gapMs, run.gapMs), {
      of: 'ours',
      atMost: 20
    }),
    row('event loop held at import', 'ms', ({ phases }) => phases.import.gapMs),
    row('peak memory ÷ file', '×', ({ perFile }) => perFile, { of: 'ours', atMost: 2.2 }),
    row('growth of memory ÷ file', '×', ({ grownPerFile }) => grownPerFile)
  ]
}
