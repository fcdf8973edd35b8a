'use strict'

/**
 * The known name most like `name`, if any is close enough to be a slip: fewer edits than half of the longer name has
 * letters.
 * @param {string} name @param {readonly string[]} known @returns {string | undefined}
 */
function nearest(name, known) {
  let best
  let least = Infinity
  for (const candidate of known) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase())
    if (edits < least && edits < Math.max(name.length, candidate.length) / 2) [best, least] = [candidate, edits]
  }
  return best
}

/** Levenshtein distance. @param {string} a @param {string} b */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]
}

module.exports = { nearest }
