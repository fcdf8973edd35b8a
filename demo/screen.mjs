import { inspect } from 'node:util'

import { SingleBar } from 'cli-progress'

// What the demo writes: colours, and a bar that moves, on a terminal only. `hasColors` heeds NO_COLOR.

const terminal = process.stdout.isTTY === true
const colours = terminal && process.stdout.hasColors()

/** @param {'bold' | 'dim' | 'green' | 'red' | 'cyan'} style @param {string} text */
export function styled(style, text) {
  const [on, off] = inspect.colors[style]
  return colours ? `\x1b[${on}m${text}\x1b[${off}m` : text
}

export function say(text = '') {
  process.stdout.write(`${text}\n`)
}

/** The title of a model, with a rule under it. */
export function title(text) {
  say(`\n${styled('bold', text)}\n${styled('dim', '='.repeat(text.length))}`)
}

/** The title of one step. */
export function step(text, note = '') {
  say(`\n${styled('cyan', text)}${note === '' ? '' : `  ${styled('dim', note)}`}`)
}

/** Lines of `label  text`. @param {Record<string, string>} facts */
export function list(facts) {
  const width = Math.max(...Object.keys(facts).map((label) => label.length))
  for (const [label, text] of Object.entries(facts)) say(`${label.padEnd(width)}  ${text}`)
}

/** A good or a bad end of a step. */
export function verdict(good, text) {
  say(`${good ? styled('green', 'ok') : styled('red', 'FAILED')}  ${text}`)
}

/** @param {string} text @param {number} width */
export function cut(text, width) {
  return text.length <= width ? text : `${text.slice(0, width - 1).trimEnd()}…`
}

/** A bar on a terminal, a line for each new phase elsewhere; both take the events of `onProgress`. */
export function progress() {
  return terminal ? movingBar() : plainLines()
}

function movingBar() {
  const bar = new SingleBar({
    format: `{bar} {percentage} %  {message}`,
    barsize: 30,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
    stream: process.stdout
  })
  bar.start(100, 0, { message: '' })
  return {
    show: ({ fraction, message }) => bar.update(Math.round(fraction * 100), { message }),
    end: () => bar.stop()
  }
}

function plainLines() {
  let last = ''
  return {
    show({ phase, fraction }) {
      if (phase !== last) say(`${String(Math.round(fraction * 100)).padStart(3)} %  ${phase}`)
      last = phase
    },
    end() {}
  }
}
