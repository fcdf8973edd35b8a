'use strict'

/**
 * An aligned text table; columns whose cells are all numbers are right-aligned.
 * @param {readonly string[]} head @param {readonly (readonly string[])[]} rows
 */
function table(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)))
  const right = head.map((_, column) => rows.every((row) => /^[-\d.]*(e[-+]\d+)?( %|x)?$/.test(row[column])))
  const line = (/** @type {readonly string[]} */ cells) =>
    cells
      .map((cell, column) => (right[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd()
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

module.exports = { table }
