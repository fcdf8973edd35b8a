// B1: what a call costs beyond the run itself, and against the peer's.
import { checkSame, ifKnown, load } from './libraries.mjs'
import { addTiny, minilm, mlp128 } from './models.mjs'
import { medianOf, ratioOf } from './statistics.mjs'
import { timeInRounds, timerOfAsync, timerOfSync } from './timing.mjs'

const ROUNDS = 41
const THREADS = 1

// The targets of shared/benchmarks.md, as the largest ratio.
const CASES = [
  { name: 'Add 1×4', model: addTiny, sync: 1.6, async: 1.5 },
  { name: 'MLP 128', model: () => mlp128(1), sync: 1.3 },
  { name: 'MLP 128, 512 rows', model: () => mlp128(512), async: 1 },
  { name: 'MiniLM, 16 tokens', model: () => minilm(16), async: 1 }
]

export default {
  id: 'B1',
  title: 'Overhead of a call',
  how:
    'One call after another on one thread, all in interleaved rounds. The raw loop makes the input value, runs, and ' +
    'copies the output; `into` is compared with the same loop, though the runtime could write to the caller there.',

  /** @param {import('./main.mjs').Context} context */
  async run({ raw }) {
    const cases = []
    for (const one of CASES) cases.push(...(await measure(one, raw)))
    return { cases }
  }
}

/** @param {typeof CASES[number]} one @param {import('./raw.mjs').RawLoop} raw */
async function measure({ name, model: make, sync, async }, raw) {
  const model = make()
  const ours = await load('onnxtune', model, { threads: THREADS })
  const inline = await ifKnown(() => load('onnxtune', model, { threads: THREADS, inline: 'auto' }))
  const peer = await load('onnxruntime-node', model, { threads: THREADS })
  const limit = await raw.load(model, THREADS)

  const { handle, inputs } = ours
  const outputs = handle.runSync(inputs)
  const names = handle.graphInfo.outputNames
  const theirs = await peer.run()
  // The caller's memory, empty, to see that it is written to.
  const into = { into: mapped(names, (name) => new outputs[name].data.constructor(outputs[name].data.length)) }
  const knowsInto = (await ifKnown(() => handle.runSync(inputs, into))) !== undefined
  names.forEach((output, index) => {
    const { data } = outputs[output]
    checkSame(name, data, limit.outputs[index])
    checkSame(name, data, theirs[output].data)
    if (knowsInto) checkSame(name, into.into[output], data)
  })

  const rawTimer = (/** @type {string} */ form) => async (chunk, chunks, warmupMs) =>
    (await raw.ask({ op: 'time', model: limit.model, form, chunk, chunks, warmupMs })).micros
  const times = await timeInRounds(
    {
      raw: rawTimer('copied'),
      bound: rawTimer('bound'),
      sync: timerOfSync(() => handle.runSync(inputs)),
      ...(knowsInto && {
        into: timerOfSync(() => handle.runSync(inputs, into)),
        asyncInto: timerOfAsync(() => handle.run(inputs, into))
      }),
      async: timerOfAsync(ours.run),
      ...(inline && { inline: timerOfAsync(inline.run) }),
      peer: timerOfAsync(peer.run)
    },
    ROUNDS
  )
  for (const one of [ours, inline, peer]) await one?.dispose()

  const row = (what, key, otherName, otherKey, atMost) =>
    times[key] && {
      name: `${name}: ${what}`,
      unit: 'µs',
      ours: medianOf(times[key]),
      other: { name: otherName, value: medianOf(times[otherKey]) },
      ratio: ratioOf(times[key], times[otherKey]),
      target: atMost === undefined ? undefined : { of: 'ratio', atMost }
    }
  return [
    row('`runSync`', 'sync', 'raw loop', 'raw'),
    row('`runSync` with `into`', 'into', 'raw loop', 'raw', sync),
    row('`await run`', 'async', 'peer', 'peer', async),
    row('`await run` with `into`', 'asyncInto', 'peer', 'peer'),
    row("`await run`, `inline: 'auto'`", 'inline', 'peer', 'peer', async),
    row("the raw loop into the caller's memory", 'bound', 'raw loop', 'raw'),
    row("the peer's `await run`", 'peer', 'raw loop', 'raw')
  ].filter(Boolean)
}

const mapped = (names, value) => Object.fromEntries(names.map((name) => [name, value(name)]))
