import { readFile } from 'node:fs/promises'

import { decode } from 'fast-png'

const LINES = new URL('lines/', import.meta.url)
const HEIGHT = 48
/** Few widths, so that the tuner can make batches: calls of a batch must have one shape. */
const WIDTHS = [320, 512]

/** Pictures of text lines in, text out. */
export const ocr = {
  title: 'PP-OCRv6 recognition: reads a line of text in a picture',
  model: 'ppocr_rec.onnx',
  samplesAre: `pictures of text lines, ${HEIGHT} pixels high, padded to ${WIDTHS.join(' or ')} wide`,

  async samples() {
    const lines = JSON.parse(await readFile(new URL('lines.json', LINES), 'utf8'))
    return Promise.all(
      lines.map(async ({ file, text }) => ({
        truth: text,
        inputs: { x: preprocess(decode(await readFile(new URL(file, LINES)))) }
      }))
    )
  },

  heading: ['in the picture', 'untuned model reads', 'tuned model reads'],

  /** One row for each sample, and how many are right. */
  meaning(graph, samples, before, after) {
    // Class 0 is CTC's blank, the last one the space; the model's metadata holds what lies between.
    const classes = ['', ...graph.metadata.character.split('\n'), ' ']
    const texts = [before, after].map((outputs) => outputs.map(({ fetch_name_0: scores }) => readCtc(scores, classes)))
    const rows = samples.map(({ truth }, index) => [truth, texts[0][index], texts[1][index]])
    const right = rows.filter(([truth, , tuned]) => tuned === truth).length
    const same = rows.every(([, untuned, tuned]) => untuned === tuned)
    return { rows, same, verdict: `${right} of ${rows.length} lines read without a fault` }
  }
}

/** As PP-OCR does: pixels from -1 to 1, planes, zeros to the right. Grey pictures: RGB and BGR are one. */
function preprocess({ data, width, height, channels }) {
  const padded = WIDTHS.find((one) => one >= width)
  if (channels !== 1 || height !== HEIGHT || padded === undefined)
    throw new Error('the demo reads small grey pictures only')
  const plane = new Float32Array(HEIGHT * padded)
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < width; x++) plane[y * padded + x] = (data[y * width + x] / 255 - 0.5) / 0.5
  }
  const planes = new Float32Array(3 * plane.length)
  for (let channel = 0; channel < 3; channel++) planes.set(plane, channel * plane.length)
  return { data: planes, dims: [1, 3, HEIGHT, padded] }
}

/** Greedy CTC: the best class of each step, repeats and blanks dropped. */
function readCtc({ data, dims: [, steps, count] }, classes) {
  if (count !== classes.length) throw new Error(`${count} classes for ${classes.length} characters`)
  let text = ''
  let last = 0
  for (let step = 0; step < steps; step++) {
    let best = 0
    for (let one = 1; one < count; one++) {
      if (data[step * count + one] > data[step * count + best]) best = one
    }
    if (best !== last) text += classes[best]
    last = best
  }
  return text
}
