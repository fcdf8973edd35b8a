// Tables of results, for the terminal and for docs/performance.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { table } = createRequire(import.meta.url)('../lib/table.js')

/** @typedef {import('./main.mjs').Case} Case */
/** @typedef {import('./statistics.mjs').Estimate} Estimate */

const PAGE = new URL('../docs/performance.md', import.meta.url)
const BEGIN = '<!-- bench: what follows is written by `npm run bench` -->'
const END = '<!-- bench: end -->'

/** @param {any} machine as machine.mjs describes it */
export function machineLine(machine) {
  const { processor, cores, memoryGiB, virtual, system, node, onnxtune, onnxRuntime, peer } = machine
  return [
    `${processor}, ${cores} cores, ${memoryGiB} GiB${virtual ? ', virtual machine' : ''}; ${system}; Node ${node}`,
    `onnxtune ${onnxtune} with ONNX Runtime ${onnxRuntime}; peer: ${peer}`
  ].join('\n')
}

/** @param {string} id @param {{ title: string, cases: Case[] }} row @param {number} seconds */
export function printRow(id, { title, cases }, seconds) {
  console.log(`\n${id} ${title} (${seconds.toFixed(0)} s)`)
  console.log(table(HEAD, cases.map(cells)))
}

/** Measured is onnxtune, unless the line says otherwise. */
const HEAD = ['', 'measured', 'compared with', 'ratio (95 %)', 'target', 'met']

/** @param {Case} one */
function cells({ name, unit, ours, other, ratio, target }) {
  const amount = (/** @type {number} */ value) => `${short(value)} ${unit}`
  return [
    name,
    amount(ours.value),
    other === undefined ? '' : `${other.name} ${amount(other.value.value)}`,
    ratio === undefined ? '' : withInterval(ratio),
    target === undefined ? '' : targetText(target, unit),
    target === undefined ? '' : verdict(target, { ours, ratio })
  ]
}

/** @param {NonNullable<Case['target']>} target @param {string} unit */
function targetText({ of, atMost, atLeast }, unit) {
  const limit = short(/** @type {number} */ (atMost ?? atLeast))
  return `${atMost === undefined ? '≥' : '≤'} ${limit}${of === 'ratio' ? '' : ` ${unit}`}`
}

/** Unclear is what misses the target by less than is known of it. @param {NonNullable<Case['target']>} target @param {any} figures */
function verdict({ of, atMost = Infinity, atLeast = -Infinity }, figures) {
  const { value, low, high } = figures[of]
  if (value <= atMost && value >= atLeast) return 'yes'
  return low <= atMost && high >= atLeast ? 'unclear' : 'no'
}

/** @param {any} results as bench/results.json has them */
export function renderPage({ machine, rows }) {
  const text = readFileSync(PAGE, 'utf8')
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`docs/performance.md lacks ${BEGIN} and ${END}`)
  const parts = [
    machineLine(machine).replaceAll('\n', '  \n'),
    ...Object.entries(rows).map(([id, row]) => section(id, row))
  ]
  writeFileSync(PAGE, `${text.slice(0, begin)}${BEGIN}\n\n${parts.join('\n\n')}\n\n${text.slice(end)}`)
}

/** @param {string} id @param {any} row */
function section(id, { title, how, commit, cases, series = [] }) {
  const measured = commit === null ? '' : ` Measured at ${commit}.`
  const tables = series.map(({ name, sweep, points }) => {
    const head = [sweep, 'onnxtune /s', 'p99 ms', 'peer /s', 'p99 ms', 'throughput ÷ peer (95 %)']
    const lines = points.map(({ level, ours, other, ratio }) => {
      const figures = [ours.perSecond, ours.p99Ms, other.perSecond, other.p99Ms].map(({ value }) => short(value))
      return [String(level), ...figures, withInterval(ratio)]
    })
    return `${name}\n\n${markdown(head, lines, ' ---: ')}`
  })
  const plot = '![Throughput and p99 by calls in flight](performance-scale.svg)'
  return [
    `## ${id} ${title}`,
    how + measured,
    markdown(HEAD, cases.map(cells), ' --- '),
    ...(series.length > 0 ? [plot, ...tables] : [])
  ].join('\n\n')
}

/** @param {string[]} head @param {string[][]} lines @param {string} align */
function markdown(head, lines, align) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => align).join('|')}|`, ...lines.map(line)].join('\n')
}

/** @param {Estimate} estimate */
const withInterval = ({ value, low, high }) => `${short(value)} (${short(low)}–${short(high)})`

/** Three digits, thousands with a separator. @param {number} value */
function short(value) {
  if (Math.abs(value) >= 1000) return Math.round(Number(value.toPrecision(3))).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}
