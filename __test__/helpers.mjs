// What the tests share: where models lie, programs in processes of their own, and checks of errors.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const entry = pathToFileURL(join(root, 'index.js')).href
export const python = process.env.PYTHON ?? 'python3'
export const engine = process.versions.bun ? 'Bun' : process.versions.deno ? 'Deno' : 'Node'

const models = join(root, '.cache', 'models')
if (!existsSync(join(models, 'generated'))) execFileSync(python, ['scripts/make_models.py'], { cwd: root })

// The path of a model that scripts/make_models.py writes.
export const generated = (name) => join(models, 'generated', `${name}.onnx`)

// The path of a model that scripts/fetch.py brings.
export const fetched = (name) => join(models, `${name}.onnx`)

// Why a test that needs these fetched models is skipped; false when they are there.
export function lacks(...names) {
  const missing = names.filter((name) => !existsSync(fetched(name)))
  return missing.length > 0 && `not there: ${missing.join(', ')}; run python3 scripts/fetch.py models`
}

// A folder that is removed when the tests of the file have ended.
export function scratch() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'onnxtune-test-')))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

// How long a program may take before it is killed, which fails its test: a limit for hangs, no measure of speed.
const KILL_AFTER_MS = 20_000

// Runs an ES module that finds the package as `onnxtune` (at ENTRY), `generated` and `assert`; gives how it ended.
// `wrap` is a command that is given the command line to run.
export async function runProgram(source, options = {}) {
  const { args = [], env = {}, cwd = root, killAfterMs = KILL_AFTER_MS, wrap = [] } = options
  const head = `import assert from 'node:assert/strict'
    import * as onnxtune from ${JSON.stringify(entry)}
    const ENTRY = ${JSON.stringify(entry)}
    const generated = (name) => ${JSON.stringify(join(models, 'generated'))} + '/' + name + '.onnx'\n`
  const inherited = Object.entries(process.env).filter(([name]) => !/^(ONNXTUNE_|NODE_)/.test(name))
  // In a file, which every engine runs; not all of them evaluate a module from the command line.
  const folder = mkdtempSync(join(tmpdir(), 'onnxtune-program-'))
  const file = join(folder, 'program.mjs')
  writeFileSync(file, head + source)
  // Deno takes the arguments of Node only from a process that starts it itself.
  const denoArgs = wrap.length > 0 && engine === 'Deno' ? ['run', '--allow-all', '--unstable-detect-cjs'] : []
  const [command, ...rest] = [...wrap, process.execPath, ...denoArgs, ...args, file]
  const child = spawn(command, rest, {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (output[name] += text))
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    child.kill('SIGKILL')
  }, killAfterMs)
  const [code, signal] = await new Promise((resolve) => child.on('close', (...ended) => resolve(ended)))
  clearTimeout(timer)
  rmSync(folder, { recursive: true, force: true })
  return { code, signal, timedOut, ...output }
}

// Runs a program that must end well and silently; gives the JSON that it prints, if it prints any.
export async function runQuietly(source, options) {
  const { stdout, ...ended } = await runProgram(source, options)
  assert.deepEqual(ended, { code: 0, signal: null, timedOut: false, stderr: '' })
  return stdout === '' ? undefined : JSON.parse(stdout)
}

// What work throws or rejects with.
export async function caught(work) {
  try {
    await (typeof work === 'function' ? work() : work)
  } catch (error) {
    return error
  }
  return assert.fail('nothing was thrown')
}

// Checks class and code of what work throws, and each of the further properties; a pattern for a text.
export async function throwsFault(work, Class, code, details = {}) {
  const error = await caught(work)
  assert.ok(error instanceof Error, `an Error, not ${String(error)}`)
  assert.equal(`${error.name} ${error.code}`, `${Class.name} ${code}`, error.message)
  assert.equal(error.constructor, Class)
  assert.ok(error.message.length > 10, 'its message says something')
  for (const [name, value] of Object.entries(details)) {
    if (value instanceof RegExp) assert.match(String(error[name]), value, name)
    else assert.deepEqual(error[name], value, name)
  }
  return error
}

// Just enough of protobuf's wire format to add fields to a model.
const varint = (number) => (number < 128 ? [number] : [(number & 127) | 128, ...varint(Math.floor(number / 128))])

// A number, a text, or a message made of fields or bytes, under a field number.
export const field = (number, content) => {
  if (typeof content === 'number') return [...varint(number * 8), ...varint(content)]
  const bytes = typeof content === 'string' ? [...Buffer.from(content)] : content.flat()
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes]
}

// The bytes of a generated model with more fields: what is appended to a message is merged into it.
export const extended = (name, ...fields) => Buffer.concat([readFileSync(generated(name)), Buffer.from(fields.flat())])

// The outputs of a run as plain objects, to compare and print.
export const plain = (outputs) =>
  Object.entries(outputs).map(([name, { type, dims, data }]) => ({ name, type, dims, data }))

// Numbers that look random and are the same every time.
export function numbers(count, seed = 1) {
  let state = seed
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 31 - 1
  })
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
export const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
