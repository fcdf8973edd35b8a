// What the figures were measured on. Nothing here names the machine or a path of it.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)

/** @param {{ runtime: string }} versions of the runtime that our package runs on */
export function describeMachine({ runtime }) {
  const peer = require('onnxruntime-node/package.json').version
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    virtual: isVirtual(),
    system: `${type()} ${release()} ${process.arch}`,
    node: process.version,
    onnxtune: require('../package.json').version,
    onnxRuntime: runtime,
    peer: `onnxruntime-node ${peer}`
  }
}

/** Whether a hypervisor runs below; null where that cannot be told. */
function isVirtual() {
  try {
    return /^flags\s*:.*\bhypervisor\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'))
  } catch {
    return null
  }
}

/** The commit that is measured, with a plus when files differ from it; null outside a repository. */
export function describeCommit() {
  try {
    const git = (...rest) => execFileSync('git', rest, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim()
    const changed = git('status', '--porcelain', '--', 'lib', 'src', 'index.js', 'Cargo.lock')
    return git('rev-parse', '--short=12', 'HEAD') + (changed === '' ? '' : '+')
  } catch {
    return null
  }
}
