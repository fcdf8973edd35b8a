// Runs cases in child processes, so that one that crashes costs itself and no other.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'

const WORKER = new URL('worker.mjs', import.meta.url)
const LONGEST_MS = 60_000
const MOST_PROCESSES = 4

/**
 * @param {string[]} names of cases @param {Record<string, string>} env added to that of this process @param {URL} [worker]
 * @returns {Promise<Map<string, any>>} by name, what the worker says of a case, or `crashed`
 */
export async function runAll(names, env, worker = WORKER) {
  const results = new Map()
  // From the end, where the large models are.
  const queue = [...names]
  const lane = async () => {
    let child
    let name
    while ((name = queue.pop()) !== undefined) {
      child ??= start(worker, env)
      const result = await answer(child, name)
      results.set(name, result)
      if (result.status === 'crashed') child = undefined
    }
    if (child === undefined) return
    child.process.disconnect()
    const crash = await child.end
    // Whose fault it is cannot be told, but it must not go untold.
    if (crash.code !== 'exit 0') results.set(child.last, { ...crash, name: child.last })
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), MOST_PROCESSES) }, lane))
  return results
}

function start(worker, env) {
  const child = fork(worker, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (words = (words + text).slice(-2000)))
  // 'close' would be the event for both, but Node 20 lacks it after a disconnect.
  const end = Promise.all([once(child, 'exit'), once(child.stderr, 'close')]).then(([[code, signal]]) => {
    return { dtypes: [], status: 'crashed', code: signal ?? `exit ${code}`, detail: words.trim() }
  })
  return { process: child, end, last: '' }
}

/** What the child says of one case, or how it ended. */
async function answer(child, name) {
  child.last = name
  let late = false
  const timer = setTimeout(() => (late = child.process.kill('SIGKILL')), LONGEST_MS)
  const message = new Promise((resolve) => child.process.once('message', resolve))
  // One that is gone already has no ears; its end says so.
  child.process.send(name, () => {})
  const result = await Promise.race([message, child.end])
  clearTimeout(timer)
  return { ...result, name, ...(late && { code: `no answer in ${LONGEST_MS / 1000} s` }) }
}
