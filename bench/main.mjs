// `npm run bench` measures all rows, writes bench/results.json and renders docs/performance.md and its plot;
// `npm run bench -- B1 B6` measures some, and leaves the others as they are if they come from the same machine.
import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'

import b0 from './b0.mjs'
import b1 from './b1.mjs'
import b2 from './b2.mjs'
import b6 from './b6.mjs'
import b7 from './b7.mjs'
import b8 from './b8.mjs'
import { load } from './libraries.mjs'
import { describeCommit, describeMachine } from './machine.mjs'
import { addTiny } from './models.mjs'
import { machineLine, printRow, renderPage } from './page.mjs'
import { renderPlot } from './plot.mjs'
import { RawLoop } from './raw.mjs'

/**
 * @typedef {import('./statistics.mjs').Estimate} Estimate
 * @typedef {object} Case one line of a table
 * @property {string} name
 * @property {string} unit
 * @property {Estimate} ours
 * @property {{ name: string, value: Estimate }} [other] what it is compared with
 * @property {Estimate} [ratio] ours divided by the other, from ratios of interleaved rounds
 * @property {{ of: 'ratio' | 'ours', atMost?: number, atLeast?: number }} [target]
 *
 * @typedef {{ raw: RawLoop }} Context
 */

/** B0 is measured whatever is asked for. */
const ROWS = [b0, b1, b2, b6, b7, b8]
const RESULTS = new URL('results.json', import.meta.url)

const wanted = process.argv.slice(2).map((id) => id.toUpperCase())
const unknown = wanted.find((id) => !ROWS.some((row) => row.id === id))
if (unknown !== undefined)
  throw new Error(`there is no row ${unknown}; there are ${ROWS.map(({ id }) => id).join(', ')}`)

const start = performance.now()
const { version: runtime, library } = await aboutRuntime()
const loop = new RawLoop(library)
const machine = describeMachine({ runtime })
console.log(machineLine(machine))

const rows = {}
for (const { id, title, how, run } of ROWS) {
  if (wanted.length > 0 && id !== b0.id && !wanted.includes(id)) continue
  const began = performance.now()
  rows[id] = { title, how, commit: describeCommit(), ...(await run({ raw: loop })) }
  printRow(id, rows[id], (performance.now() - began) / 1000)
}
await loop.close()
console.log(`\n${((performance.now() - start) / 1000).toFixed(0)} s in all`)
save({ machine, rows })

/** Which runtime our package runs on, and where it is: the raw loop takes the same. */
async function aboutRuntime() {
  const { handle, dispose } = await load('onnxtune', addTiny())
  await dispose()
  return handle.backend
}

/** Writes the results and what is made of them. @param {{ machine: any, rows: any }} measured */
function save(measured) {
  const all = ROWS.every(({ id }) => measured.rows[id] !== undefined)
  const before = all ? undefined : readResults()
  if (before !== undefined && !isDeepStrictEqual(before.machine, measured.machine)) {
    console.log('\nNothing was written: the other rows come from another machine or version. Measure all to write.')
    return
  }
  const merged = { ...before?.rows, ...measured.rows }
  const inOrder = ROWS.filter(({ id }) => merged[id] !== undefined).map(({ id }) => [id, merged[id]])
  // The page is made of what is in the file, so that the two cannot differ.
  writeFileSync(RESULTS, toJson({ ...measured, rows: Object.fromEntries(inOrder) }))
  const results = readResults()
  renderPage(results)
  if (measured.rows.B8 !== undefined) renderPlot(results.rows.B8.series)
  console.log('\nWritten: bench/results.json, docs/performance.md and its plot')
}

function readResults() {
  try {
    return JSON.parse(readFileSync(RESULTS, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** JSON of numbers with four digits, an estimate to a line. @param {unknown} results */
function toJson(results) {
  const rounded = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value)
  const text = JSON.stringify(results, rounded, 2)
  return text.replace(/\{\s+("value": \S+)\s+("low": \S+)\s+("high": \S+)\s+\}/g, '{ $1 $2 $3 }') + '\n'
}
