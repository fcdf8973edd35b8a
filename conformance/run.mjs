// npm run conformance [-- case...]: runs the cases of the onnx package through the public API, once as they are and once
// with two opt-ins, and fails where Python's ONNX Runtime does better or where a failure is no coded error.

import { readCases } from './corpus.mjs'
import { localeEnv } from './locale.mjs'
import { runAll } from './pool.mjs'
import { explain, failures, faultOf, table } from './report.mjs'

// Whatever the caller's environment says: opsets that are no release yet, and the locale that StringNormalizer wants.
const PLAIN = { ALLOW_RELEASED_ONNX_OPSET_ONLY: '1', LOCPATH: '' }
const OPT_INS = { ...PLAIN, ALLOW_RELEASED_ONNX_OPSET_ONLY: '0', ...localeEnv() }

const wanted = process.argv.slice(2)
const cases = await choose(wanted)
const names = cases.map((one) => one.name)
const plain = await runAll(names, PLAIN)
const optIns = await runAll(names, OPT_INS)

const faults = new Map()
const skipped = []
const needOptIns = []
for (const one of cases) {
  const [first, second] = [plain.get(one.name), optIns.get(one.name)]
  const fault = faultOf(one, first, false) ?? faultOf(one, second, true)
  if (fault !== null) faults.set(one.name, fault)
  else if (second.status !== 'passed') skipped.push(second)
  else if (first.status !== 'passed') needOptIns.push(first)
}

if (wanted.length > 0) {
  for (const name of names)
    console.log(`plain:   ${explain(plain.get(name)).trim()}\nopt-ins: ${explain(optIns.get(name)).trim()}`)
} else {
  console.log(table(cases, plain, optIns))
  if (needOptIns.length > 0) console.log(`\nPassed with the opt-ins only:\n${failures(needOptIns)}`)
  if (skipped.length > 0) console.log(`\nPassed by neither this package nor Python:\n${failures(skipped)}`)
}
if (faults.size > 0) console.log(`\nFailed:\n${[...faults.values()].join('\n')}`)

const passed = cases.length - faults.size - skipped.length
console.log(`\n${passed} passed, ${faults.size} failed, ${skipped.length} skipped`)
process.exitCode = faults.size > 0 ? 1 : 0

/** All cases, or those named. @param {string[]} wanted */
async function choose(wanted) {
  const all = await readCases()
  const unknown = wanted.filter((name) => !all.some((one) => one.name === name))
  if (unknown.length > 0) throw new Error(`no such case: ${unknown.join(', ')}`)
  return wanted.length === 0 ? all : all.filter((one) => wanted.includes(one.name))
}
