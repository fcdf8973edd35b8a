// What a run prints: a table of counts, and every case that does not pass.

import { categoryOf } from './corpus.mjs'

const WIDTH = 120

/**
 * Whether Python's runtime passes a case in one of the two runs.
 * @param {{ python: string }} one @param {boolean} optIns
 */
function pythonPasses(one, optIns) {
  return one.python === 'passes' || (optIns && one.python === 'opt-in')
}

/**
 * What is wrong with a result, or null. To fail is right where Python's runtime fails too, but only by a coded error or
 * by a numeric difference that is on the list.
 * @param {any} one the case @param {any} result @param {boolean} optIns
 */
export function faultOf(one, result, optIns) {
  if (result.status === 'passed') return null
  if (pythonPasses(one, optIns)) return `${explain(result)} (Python passes${optIns ? ' with the opt-ins' : ''})`
  if (result.status === 'error') return null
  return result.status === 'differs' && one.reason === 'numeric difference' ? null : explain(result)
}

/**
 * Cases and passes by category and by element type. A case counts for each type among its inputs and outputs.
 * @param {any[]} cases @param {Map<string, any>} plain @param {Map<string, any>} optIns
 */
export function table(cases, plain, optIns) {
  const row = (label, group) => {
    const count = (passes) => group.filter(passes).length
    return [
      label,
      group.length,
      count((one) => plain.get(one.name).status === 'passed'),
      count((one) => pythonPasses(one, false)),
      count((one) => optIns.get(one.name).status === 'passed'),
      count((one) => pythonPasses(one, true))
    ]
  }
  const grouped = (keysOf) => {
    const groups = new Map()
    for (const one of cases) for (const key of keysOf(one)) groups.set(key, [...(groups.get(key) ?? []), one])
    return [...groups].sort().map(([key, group]) => row(key, group))
  }
  const rows = [
    ['', 'cases', 'plain', 'Python', 'opt-ins', 'Python'],
    null,
    ...grouped((one) => [categoryOf(one.name)]),
    null,
    ...grouped((one) => optIns.get(one.name).dtypes),
    null,
    row('all', cases)
  ]
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => String(cells?.[column] ?? '').length)))
  const line = (cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : String(cell).padStart(widths[column])))
      .join('  ')
  return rows.map((cells) => (cells === null ? line(widths.map((width) => '-'.repeat(width))) : line(cells))).join('\n')
}

/**
 * The cases that did not pass, by what came of them: coded errors with the names alone, all else in full.
 * @param {any[]} results
 */
export function failures(results) {
  const groups = new Map()
  for (const result of results) {
    const title = result.status === 'error' ? result.code : result.status
    groups.set(title, [...(groups.get(title) ?? []), result])
  }
  const lines = []
  for (const [title, group] of [...groups].sort((a, b) => b[1].length - a[1].length)) {
    lines.push(`${title}: ${group.length}`)
    if (group[0].status === 'error') lines.push(...wrap(group.map((result) => result.name)))
    else lines.push(...group.map(explain))
  }
  return lines.join('\n')
}

/** One case in full. @param {any} result */
export function explain({ name, status, code, detail }) {
  return `  ${name}: ${[status, code, detail].filter(Boolean).join(', ')}`
}

/** Names in lines, as many as fit. @param {string[]} names */
function wrap(names) {
  const lines = []
  for (const name of names) {
    const last = lines.at(-1)
    if (last === undefined || last.length + name.length + 1 > WIDTH) lines.push(`  ${name}`)
    else lines[lines.length - 1] = `${last} ${name}`
  }
  return lines
}
