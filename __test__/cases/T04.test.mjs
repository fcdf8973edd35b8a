// T04 (microsoft/onnxruntime PR#11841): a loaded model that nobody calls keeps a processor busy.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { runQuietly } from '../helpers.mjs'

// A thread that spins would use 5 s, a timer or a poll that is too frequent some 100 ms; the figure is told.
const IDLE_MS = 5000
const LIMIT_MS = 1000
const limit = { timeout: 60_000 }

const idle = `
  const begin = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, ${IDLE_MS}))
  const { user, system } = process.cpuUsage(begin)
  console.log((user + system) / 1000)`
const load = (name, options = '{}') => `await onnxtune.OnnxModule.load(generated('${name}'), ${options})`
const x = 'new Float32Array(16)'

const WAYS = {
  'load and one run': `const module = ${load('mlp_tiny')}\nawait module.run(${x})`,
  'runs that came close together, so that threads looked out for more': `const module = ${load('mlp_tiny', '{ callers: 8 }')}
    for (let round = 0; round < 2000; round++) await module.run(${x})
    await Promise.all(Array.from({ length: 256 }, () => module.run(${x})))`,
  'two modules with many threads': `const modules = [${load('mlp_external', '{ threads: 8 }')}, ${load('cnn_fixed1', '{ threads: 8, executionMode: "parallel", interOpThreads: 4 }')}]
    await Promise.all([modules[0].run(new Float32Array(1024)), modules[1].run(new Float32Array(3 * 96 * 96))])`,
  runSync: `const module = ${load('mlp_external')}\nmodule.runSync(new Float32Array(1024))`,
  'an aborted run': `const module = ${load('slow')}
    await module.run({ n: 10_000_000 }, { signal: AbortSignal.timeout(100) }).catch(() => {})`,
  'a run past its deadline': `const module = ${load('slow')}
    await module.run({ n: 10_000_000 }, { timeoutMs: 100 }).catch(() => {})`,
  'a tune': `const tuned = await onnxtune.tune(generated('mlp_tiny'), [${x}], { budgetMs: 500 })\nawait tuned.run(${x})`,
  dispose: `const module = ${load('mlp_tiny')}\nawait module.run(${x})\nawait module.dispose()`
}

// All at once: each process counts its own time, and most of it is idle.
let figures
before(() => {
  figures = Object.fromEntries(Object.entries(WAYS).map(([way, program]) => [way, runQuietly(program + idle)]))
})
after(() => Promise.allSettled(Object.values(figures)))

for (const way of Object.keys(WAYS)) {
  test(`an idle module keeps a processor busy after ${way}`, limit, async (context) => {
    const used = await figures[way]
    context.diagnostic(`${used.toFixed(0)} ms of processor time in ${IDLE_MS} ms`)
    assert.ok(used < LIMIT_MS, `${used} ms`)
  })
}
