import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const PROGRAM = fileURLToPath(new URL('child.mjs', import.meta.url))
const KILL_AFTER_MS = 60_000

/**
 * Runs one of the programs of child.mjs.
 * @param {string} what @param {import('./libraries.mjs').Library} library @param {(string | number)[]} rest
 * @returns {Promise<any>}
 */
export async function child(what, library, ...rest) {
  const program = ['--expose-gc', PROGRAM, what, library, ...rest.map(String)]
  const { stdout } = await promisify(execFile)(process.execPath, program, { timeout: KILL_AFTER_MS })
  return JSON.parse(stdout)
}
