// The cases: models with inputs and expected outputs that the onnx package brings, and what Python's ONNX Runtime 1.31.1
// makes of each on the CPU (python-onnxruntime.csv).

import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'

/** Where scripts/fetch.py puts the onnx package. */
export const PACKAGES = new URL('../.cache/python/', import.meta.url)
const DATA = new URL('onnx/backend/test/data/', PACKAGES)
const PYTHON = new URL('python-onnxruntime.csv', import.meta.url)

/** The tolerances of onnx's own test runner. */
const TOLERANCE = { rtol: 1e-3, atol: 1e-7 }

/**
 * All cases. `python` says when Python passes: `passes`, `opt-in` (only with the opt-ins of run.mjs) or `fails`; `reason`
 * says why not.
 */
export async function readCases() {
  const [, ...lines] = (await readFile(PYTHON, 'utf8')).trimEnd().split('\n')
  const cases = lines.map((line) => {
    const [name, python, reason] = line.split(',')
    return { name, python, reason }
  })
  await checkComplete(cases.map((one) => one.name))
  return cases
}

/** A case that only the package or only the list has would go unnoticed. @param {string[]} listed */
async function checkComplete(listed) {
  const present = []
  for (const category of new Set(listed.map(categoryOf))) {
    for (const entry of await readdir(new URL(`${category}/`, DATA))) {
      if (category !== 'light') present.push(`${category}/${entry}`)
      else if (entry.endsWith('.onnx')) present.push(`light/test_${entry.slice('light_'.length, -'.onnx'.length)}`)
    }
  }
  const odd = [...listed.filter((name) => !present.includes(name)), ...present.filter((name) => !listed.includes(name))]
  if (odd.length > 0) throw new Error(`the onnx package and python-onnxruntime.csv differ: ${odd.join(', ')}`)
}

/** `node`, `simple`, … @param {string} name of a case */
export function categoryOf(name) {
  return name.slice(0, name.indexOf('/'))
}

/**
 * Where a case's parts are. The models of `light` are real ones with made-up weights; they have no inputs.
 * @param {string} name
 */
export async function locate(name) {
  if (categoryOf(name) !== 'light') {
    const folder = new URL(`${name}/`, DATA)
    const set = new URL('test_data_set_0/', folder)
    return {
      model: new URL('model.onnx', folder),
      inputs: numbered(set, 'input_'),
      outputs: numbered(set, 'output_'),
      ...TOLERANCE
    }
  }
  const real = JSON.parse(await readFile(new URL(`real/${name.slice('light/'.length)}/data.json`, DATA), 'utf8'))
  const stem = `light_${name.slice('light/test_'.length)}`
  const folder = new URL('light/', DATA)
  return {
    model: new URL(`${stem}.onnx`, folder),
    inputs: null,
    outputs: numbered(folder, `${stem}_output_`),
    rtol: real.rtol ?? TOLERANCE.rtol,
    atol: real.atol ?? TOLERANCE.atol
  }
}

/** The files `<stem>0.pb`, `<stem>1.pb` and so on. @param {URL} folder @param {string} stem */
function numbered(folder, stem) {
  const files = []
  for (let file; existsSync((file = new URL(`${stem}${files.length}.pb`, folder)));) files.push(file)
  return files
}
