import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serialize } from 'node:v8'

import { OnnxModule, inspect, readGraph, tune } from 'onnxtune'

import table from '../lib/table.js'
import { difference, facts, megabytes } from './facts.mjs'
import { LoopWatch } from './loop.mjs'
import { recipes } from './recipes.mjs'
import { cut, list, progress, say, step, title, verdict } from './screen.mjs'

const BUDGET_MS = 20_000
const MODELS = fileURLToPath(new URL('../.cache/models/', import.meta.url))
const SECOND = fileURLToPath(new URL('second.mjs', import.meta.url))

/**
 * The whole way of one model. @param {string} name of the recipe @param {string} folder for what it writes
 * @param {AbortSignal} signal
 */
export async function show(name, folder, signal) {
  const recipe = recipes[name]
  const watch = new LoopWatch()
  title(recipe.title)

  // A copy, so that it can be taken away later.
  const source = join(folder, recipe.model)
  await copyFile(join(MODELS, recipe.model), source)
  const samples = await recipe.samples()
  list({ ...(await facts(await readGraph(source, { signal }))), samples: `${samples.length} ${recipe.samplesAre}` })

  const dataset = samples.map(({ inputs }) => inputs)
  const module = await watch.during('load', () => OnnxModule.load(source, { signal }))
  const untuned = []
  await watch.during('run', async () => {
    for (const inputs of dataset) untuned.push(await module.run(inputs, { signal }))
  })
  step('Inspect')
  const inspected = await watch.during('inspect', () => inspect(module, dataset, { signal }))
  say(inspected.describe())

  step('Tune', `on the CPU, for ${BUDGET_MS / 1000} s`)
  const tuned = await watch.during('tune', () => tuneWithProgress(source, dataset, signal))
  say(tuned.report.describe())

  const checkpoint = join(folder, `${name}.onnxtune`)
  await watch.during('save', () => tuned.save(checkpoint, { signal }))
  const { size } = await stat(checkpoint)
  const reference = join(folder, `${name}.reference`)
  await writeFile(reference, serialize(untuned))
  await Promise.all([module.dispose(), tuned.dispose()])
  await rm(source)

  step('Second process', `loads the checkpoint of ${megabytes(size)}; the model is taken away`)
  const second = await inSecondProcess([name, checkpoint, reference, source], signal)
  const good = report(recipe, second)
  const phases = [...watch.phases, ...second.phases.map((one) => ({ ...one, phase: `2nd ${one.phase}` }))]
  reportLoop(phases)
  return { model: recipe.model, good, report: tuned.report, phases, maxAbsError: second.comparison.maxAbsError }
}

async function tuneWithProgress(source, dataset, signal) {
  const { show, end } = progress()
  try {
    return await tune(source, dataset, { budgetMs: BUDGET_MS, signal, onProgress: show })
  } finally {
    end()
  }
}

/** @param {string[]} args @param {AbortSignal} signal */
async function inSecondProcess(args, signal) {
  const child = fork(SECOND, args, { signal, serialization: 'advanced' })
  let answer
  child.on('message', (message) => {
    answer = message
  })
  const [code, killedBy] = await once(child, 'exit', { signal })
  if (code !== 0 || answer === undefined)
    throw new Error(`the second process failed: ${killedBy ?? `exit code ${code}`}`)
  return answer
}

/** Prints what the second process found; gives whether all of it is as it should be. */
function report(recipe, { sourceGone, settings, comparison, meaning }) {
  const rows = meaning.rows.map((row) => row.map((cell) => cut(cell, 48)))
  say(table.table(recipe.heading, rows))
  say()
  verdict(sourceGone, `runs without the model's file: ${settings}`)
  const { equal, values, faults, maxAbsError } = comparison
  const compared = `${values.toLocaleString('en')} output values against the untuned model's`
  verdict(equal, `${compared}, largest difference ${difference(maxAbsError)}`)
  for (const fault of faults.slice(0, 5)) say(`    ${fault}`)
  verdict(meaning.same, `${meaning.verdict}, as by the untuned model`)
  return sourceGone && equal && meaning.same
}

/** @param {import('./loop.mjs').Phase[]} phases */
function reportLoop(phases) {
  const known = phases.every(({ ownMs }) => ownMs !== undefined)
  step(
    'Event loop',
    `longest time between two of its turns${known ? ', and how much of it the thread itself worked' : ''}`
  )
  const row = (label, figure) => [label, ...phases.map((phase) => figure(phase).toFixed(1))]
  const rows = [row('longest gap', ({ gapMs }) => gapMs), ...(known ? [row('work in it', ({ ownMs }) => ownMs)] : [])]
  say(table.table(['ms', ...phases.map(({ phase }) => phase)], rows))
}
