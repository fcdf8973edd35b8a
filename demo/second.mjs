// The second process: it has the checkpoint and, for the comparison, what the untuned model said; nothing else.
// Arguments: the recipe's name, the checkpoint, the untuned model's outputs, and where the model was.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { deserialize } from 'node:v8'

import { TunedModule } from 'onnxtune'

import { compare } from './compare.mjs'
import { LoopWatch } from './loop.mjs'
import { recipes } from './recipes.mjs'

const [name, checkpoint, reference, source] = process.argv.slice(2)
const recipe = recipes[name]
const samples = await recipe.samples()

const watch = new LoopWatch()
const tuned = await watch.during('load', () => TunedModule.load(checkpoint))
const outputs = []
await watch.during('run', async () => {
  for (const { inputs } of samples) outputs.push(await tuned.run(inputs))
})

const untuned = deserialize(await readFile(reference))
process.send({
  sourceGone: !existsSync(source),
  settings: tuned.candidate.name,
  phases: watch.phases,
  comparison: compare(untuned, outputs),
  meaning: recipe.meaning(tuned.graphInfo, samples, untuned, outputs)
})
await tuned.dispose()
process.disconnect()
