// Draws docs/performance-scale.svg: throughput and p99 by calls in flight. It stands alone and knows light and dark.
import { writeFileSync } from 'node:fs'

const FILE = new URL('../docs/performance-scale.svg', import.meta.url)

const PANEL = { width: 340, height: 190, left: 62, top: 62, across: 430, down: 250 }
const WIDTH = PANEL.left + PANEL.across + PANEL.width + 28
const HEIGHT = PANEL.top + PANEL.down + PANEL.height + 52

const WHO = [
  { key: 'ours', name: 'onnxtune', mark: 'circle' },
  { key: 'other', name: 'onnxruntime-node', mark: 'square' }
]

const STYLE = `
  svg { --ground: #ffffff; --ink: #1f2328; --faint: #656d76; --grid: #d8dee4; --ours: #0b62c4; --other: #b3470c }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #0d1117; --ink: #e6edf3; --faint: #9198a1; --grid: #30363d; --ours: #58a6ff; --other: #f0883e }
  }
  text { font: 12px system-ui, sans-serif; fill: var(--faint) }
  .title { font-weight: 600; font-size: 13px; fill: var(--ink) }
  .grid { stroke: var(--grid) }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round }
  .band { stroke: none; opacity: 0.2 }
  .ours { fill: var(--ours); stroke: var(--ours) }
  .other { fill: var(--other); stroke: var(--other) }
  .line.ours, .line.other { fill: none }`

/** @param {any[]} series of B8 */
export function renderPlot(series) {
  const shown = series.filter(({ sweep }) => sweep === 'calls in flight')
  const panels = shown.flatMap(({ name, points }, column) => [
    panel(column, 0, `${name}: runs a second`, points, 'perSecond', linear),
    panel(column, 1, `${name}: p99 in ms`, points, 'p99Ms', logarithmic)
  ])
  writeFileSync(
    FILE,
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title">
<title id="title">Throughput and p99 by calls in flight, onnxtune and onnxruntime-node</title>
<style>${STYLE}
</style>
<rect width="100%" height="100%" fill="var(--ground)"/>
${legend()}
${panels.join('\n')}
</svg>
`
  )
}

function legend() {
  const entries = WHO.map(({ key, name, mark }, index) => {
    const x = PANEL.left + index * 120
    return `<path class="line ${key}" d="M${x} 22h24"/>${marker(mark, key, x + 12, 22)}${text(x + 31, 26, name)}`
  })
  const note = text(WIDTH - 28, 26, 'medians with 95 % intervals', 'end')
  return entries.join('') + note
}

/**
 * @param {number} column @param {number} row @param {string} title @param {any[]} points @param {string} key
 * @param {typeof linear} axis
 */
function panel(column, row, title, points, key, axis) {
  const left = PANEL.left + column * PANEL.across
  const top = PANEL.top + row * PANEL.down
  const bottom = top + PANEL.height
  const values = points.flatMap((point) => WHO.flatMap((who) => [point[who.key][key].low, point[who.key][key].high]))
  const { ticks, place } = axis(values)
  const x = (/** @type {number} */ index) => left + 10 + (index * (PANEL.width - 20)) / Math.max(1, points.length - 1)
  const y = (/** @type {number} */ value) => bottom - place(value) * PANEL.height

  const grid = ticks.map(
    (tick) =>
      `<path class="grid" d="M${left} ${at(y(tick))}h${PANEL.width}"/>${text(left - 8, y(tick) + 4, brief(tick), 'end')}`
  )
  const below = points.map(({ level }, index) => text(x(index), bottom + 18, String(level), 'middle'))
  const lines = WHO.map(({ key: who, mark }) => {
    const along = (/** @type {'value' | 'low' | 'high'} */ part) =>
      points.map((point, index) => `${at(x(index))} ${at(y(point[who][key][part]))}`)
    const band = [...along('low'), ...along('high').reverse()].join('L')
    const marks = points.map((point, index) => marker(mark, who, x(index), y(point[who][key].value)))
    return `<path class="band ${who}" d="M${band}Z"/><path class="line ${who}" d="M${along('value').join('L')}"/>${marks.join('')}`
  })
  const caption = row === 1 ? text(left + PANEL.width / 2, bottom + 38, 'calls in flight', 'middle') : ''
  return `<g>${text(left, top - 14, title, 'start', 'title')}${grid.join('')}${below.join('')}${lines.join('')}${caption}</g>`
}

/** From zero. @param {number[]} values */
function linear(values) {
  const highest = Math.max(...values)
  const rough = highest / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5].find((factor) => factor * power >= rough) ?? 10) * power
  const end = Math.ceil(highest / step) * step
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, index) => index * step)
  return { ticks, place: (/** @type {number} */ value) => value / end }
}

/** Whole powers of ten. @param {number[]} values */
function logarithmic(values) {
  const from = Math.floor(Math.log10(Math.min(...values)))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))))
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => Number(`1e${from + index}`))
  return { ticks, place: (/** @type {number} */ value) => (Math.log10(value) - from) / (to - from) }
}

/** Shapes differ so that colours are not needed to tell the lines apart. @param {string} mark @param {string} who @param {number} x @param {number} y */
function marker(mark, who, x, y) {
  if (mark === 'circle') return `<circle class="${who}" cx="${at(x)}" cy="${at(y)}" r="3"/>`
  return `<rect class="${who}" x="${at(x - 3)}" y="${at(y - 3)}" width="6" height="6"/>`
}

/** @param {number} x @param {number} y @param {string} content @param {string} [anchor] @param {string} [name] */
function text(x, y, content, anchor = 'start', name = '') {
  const kind = name === '' ? '' : ` class="${name}"`
  return `<text${kind} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${content}</text>`
}

/** @param {number} value */
const brief = (value) => (value >= 1000 ? `${value / 1000}k` : String(value))
/** @param {number} position */
const at = (position) => Number(position.toFixed(1))
