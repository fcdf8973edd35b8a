// `npm run demo`: two real models, each through all that onnxtune does. Exit code 1 if any comparison fails.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

import { versions } from 'onnxtune'

import table from '../lib/table.js'
import { difference } from './facts.mjs'
import { longest } from './loop.mjs'
import { recipes } from './recipes.mjs'
import { say, styled, title } from './screen.mjs'
import { show } from './show.mjs'

const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 }

const start = performance.now()
const folder = await mkdtemp(join(tmpdir(), 'onnxtune-'))
// However the demo ends, nothing stays behind.
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const stop = new AbortController()
for (const [name, number] of Object.entries(SIGNALS)) {
  process.on(name, () => {
    process.exitCode = 128 + number
    // The second time, without waiting for what is under way.
    if (stop.signal.aborted) process.exit()
    stop.abort()
  })
}

try {
  const { onnxtune, onnxruntime } = await versions()
  const processors = availableParallelism()
  say(`onnxtune ${onnxtune}, ONNX Runtime ${onnxruntime}, Node ${process.version}, ${processors} processors`)
  const results = []
  for (const name of Object.keys(recipes)) results.push(await show(name, folder, stop.signal))
  summary(results)
  if (!results.every(({ good }) => good)) process.exitCode = 1
} catch (error) {
  if (!stop.signal.aborted) throw error
  say(styled('dim', 'stopped; nothing is left behind'))
}

function summary(results) {
  title('In short')
  const rows = results.map(({ model, good, report, maxAbsError, phases }) => {
    const { phase, gapMs } = longest(phases)
    return [
      model,
      report.verdict,
      good ? 'the same' : 'DIFFERENT',
      difference(maxAbsError),
      `${gapMs.toFixed(1)} ms (${phase})`
    ]
  })
  say(table.table(['model', 'tuned', 'answers', 'difference', 'longest gap'], rows))
  say(`\n${((performance.now() - start) / 1000).toFixed(0)} s in all`)
}
