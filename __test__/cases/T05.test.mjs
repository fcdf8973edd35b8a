// T05 (microsoft/onnxruntime#25325, tensorflow/tfjs#6019): memory grows with every load, run and dispose.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { runQuietly } from '../helpers.mjs'

const limit = { timeout: 120_000 }

// Programs print the resident memory in MB that was added after they had warmed up.
const HEAD = `
  const turn = () => new Promise((resolve) => setTimeout(resolve, 1))
  const collect = async () => {
    for (let round = 0; round < 3; round++) {
      gc()
      await turn()
    }
  }
  async function grow(warmup, rounds, work) {
    for (let round = 0; round < warmup; round++) await work(round)
    await collect()
    const before = process.memoryUsage.rss()
    for (let round = 0; round < rounds; round++) await work(warmup + round)
    await collect()
    return (process.memoryUsage.rss() - before) / 1e6
  }
  const load = (name, options) => onnxtune.OnnxModule.load(generated(name), options)
  const code = ({ code }) => code\n`
const run = (program) => runQuietly(HEAD + program, { args: ['--expose-gc'], killAfterMs: 100_000 })

test('memory grows over 100 loads, runs and disposals of a model of 50 MB', limit, async (context) => {
  // A model that is kept would add 4,000 MB from the 20th round to the 100th, and 1 MB a round 80.
  const { grown, kept, codes } = await run(`
    const [kept, codes] = [[], new Set()]
    const grown = await grow(20, 80, async (round) => {
      const module = await load('zeros_50mb')
      kept.push((await module.run(new Float32Array(2560).fill(round))).y)
      await module.dispose()
      await module.dispose()
      codes.add(await module.run(new Float32Array(2560)).catch(code))
    })
    const wrong = kept.filter(({ data }, round) => data.length !== 2560 || !data.every((value) => value === round))
    console.log(JSON.stringify({ grown, kept: kept.length - wrong.length, codes: [...codes] }))`)
  context.diagnostic(`RSS(100) - RSS(20) = ${grown.toFixed(1)} MB`)
  assert.deepEqual({ kept, codes }, { kept: 100, codes: ['ERR_DISPOSED'] })
  assert.ok(grown < 100, `${grown} MB`)
})

test('memory grows when modules of 50 MB are dropped without dispose', limit, async (context) => {
  const grown = await run(`
    const grown = await grow(3, 10, async () => {
      await (await load('zeros_50mb')).run(new Float32Array(2560))
      await collect()
    })
    console.log(grown)`)
  context.diagnostic(`${grown.toFixed(1)} MB in 10 rounds`)
  assert.ok(grown < 200, `${grown} MB`)
})

test('dispose during runs breaks them, or leaves memory behind', limit, async (context) => {
  const { grown, results } = await run(`
    const results = {}
    const count = (result) => (results[result] = (results[result] ?? 0) + 1)
    const grown = await grow(4, 8, async () => {
      const module = await load('zeros_50mb', { callers: 2 })
      const x = new Float32Array(2560).fill(3)
      const runs = Array.from({ length: 8 }, () => module.run(x).then(({ y }) => y.data[2559], code))
      const disposals = [module.dispose(), module.dispose()]
      runs.push(module.run(x).catch(code))
      await Promise.all(disposals)
      for (const result of await Promise.all(runs)) count(result)
    })
    console.log(JSON.stringify({ grown, results }))`)
  context.diagnostic(`${grown.toFixed(1)} MB in 8 rounds`)
  assert.deepEqual(results, { 3: 96, ERR_DISPOSED: 12 })
  assert.ok(grown < 200, `${grown} MB`)
})

// What a service repeats for months. A buffer of 100 kB left behind each time would add 200 MB and more.
const REPEATED = {
  runs: [`async () => void (await module.run(x))`, 2000],
  'synchronous runs': [`() => void module.runSync(x)`, 2000],
  'runs into one array': [`async () => void (await module.run(x, { into: { y: target } }))`, 2000],
  'runs with a signal that lives on': [`async () => void (await module.run(x, { signal }))`, 2000],
  'runs in parallel': [`() => Promise.all(Array.from({ length: 100 }, () => module.run(x)))`, 20],
  'runs whose inputs are refused': [
    `async () => void (await module.run({ x: new Float32Array(7) }).catch(() => {}))`,
    2000
  ],
  'runs that are aborted': [
    `async () => {
    const running = module.run(x, { signal: AbortSignal.abort() }).catch(() => {})
    const controller = new AbortController()
    const other = module.run(x, { signal: controller.signal }).catch(() => {})
    controller.abort()
    await Promise.all([running, other])
  }`,
    2000
  ],
  'runs of strings': [`async () => void (await strings.run({ x: texts }))`, 500]
}
for (const [what, [work, times]] of Object.entries(REPEATED)) {
  test(`memory grows with ${what}`, limit, async (context) => {
    const grown = await run(`
      const module = await load('two_unknowns')
      const strings = await load('identity_string')
      const x = { data: new Float32Array(25_000), dims: [5, 5000] }
      const target = new Float32Array(25_000)
      const texts = new Array(1000).fill('x'.repeat(100))
      const { signal } = new AbortController()
      console.log(await grow(${times / 5}, ${times}, ${work}))`)
    context.diagnostic(`${grown.toFixed(1)} MB`)
    assert.ok(grown < 100, `${grown} MB`)
  })
}

test('memory grows with loads that fail, and with graphs that are read', limit, async (context) => {
  const grown = await run(`
    const names = ['truncated', 'wrong_type', 'future_opset', 'unknown_op', 'empty', 'missing_external']
    console.log(await grow(10, 50, async () => {
      for (const name of names) await load(name).catch(() => {})
      await load('cnn_fixed1', { signal: AbortSignal.timeout(1) }).catch(() => {})
      await onnxtune.readGraph(generated('cnn_fixed1'))
    }))`)
  context.diagnostic(`${grown.toFixed(1)} MB`)
  assert.ok(grown < 100, `${grown} MB`)
})
