// Inside Electron's memory cage, and in any Node whose V8 has its sandbox, no buffer may lie outside of V8's own memory.
// A double stands in for them, since Electron comes from no package registry: it makes Node refuse every such buffer.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { engine, runProgram, runQuietly, scratch } from './helpers.mjs'

const folder = scratch()
const limit = { timeout: 60_000 }
const NO_EXTERNAL_BUFFERS_ALLOWED = 22

function whyNot() {
  if (process.platform !== 'linux') return 'the double is preloaded, which is done so on Linux only'
  if (!['x64', 'arm64'].includes(process.arch)) return 'the double is written for x64 and arm64'
  return spawnSync('cc', ['--version']).status !== 0 && 'there is no C compiler cc to build the double with'
}
const skip = whyNot()

function compile(name, output) {
  const source = fileURLToPath(new URL(`fixtures/${name}.c`, import.meta.url))
  execFileSync('cc', ['-Wall', '-Wextra', '-Werror', '-O1', '-shared', '-fPIC', '-o', join(folder, output), source])
  return join(folder, output)
}
const cage = skip ? '' : compile('no_external_buffers', 'cage.so')

// Runs a program in the cage; gives what it prints and how many external buffers it was refused.
async function runCaged(program) {
  const env = { LD_PRELOAD: cage, ONNXTUNE_TEST_FOLDER: folder }
  const { stdout, stderr, ...ended } = await runProgram(program, { env, killAfterMs: 50_000 })
  const [first, ...rest] = stderr.trimEnd().split('\n')
  assert.deepEqual(ended, { code: 0, signal: null, timedOut: false }, stderr)
  assert.match(first, /^cage: guards [23] functions$/)
  const refused = rest.filter((line) => line === 'cage: refused an external buffer')
  assert.deepEqual(rest, refused, 'nothing else is on stderr')
  return { stdout, refused: refused.length }
}

test(
  'the cage holds: an addon gets no external buffer, neither by a linked function nor by one looked up',
  { skip },
  async () => {
    const addon = compile('external_buffer_addon', 'external_buffer.node')
    const program = `import { createRequire } from 'node:module'
    console.log(JSON.stringify(createRequire(import.meta.url)(${JSON.stringify(addon)})))`
    assert.deepEqual(createRequire(import.meta.url)(addon), [0, 0], 'outside it gets both')
    const { stdout, refused } = await runCaged(program)
    assert.deepEqual(JSON.parse(stdout), [NO_EXTERNAL_BUFFERS_ALLOWED, NO_EXTERNAL_BUFFERS_ALLOWED])
    assert.equal(refused, 2)
  }
)

// Prints all outputs of what it runs, to the bit. Whoever wins a tune, the baseline or the one candidate, computes the
// same.
const PROGRAM = `
  import { readFileSync } from 'node:fs'
  const { ONNXRuntimeBackend, OneBackendStrategy, OnnxModule, TunedModule, tune } = onnxtune
  const exact = (value) =>
    Array.isArray(value) ? value.map(exact)
    : value instanceof Map ? [...value].map(([key, entry]) => [String(key), String(entry)])
    : { type: value.type, dims: value.dims, data: Array.isArray(value.data) ? value.data
      : Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength).toString('hex') }
  const seen = []
  const see = (outputs) => seen.push(Object.entries(outputs).map(([name, value]) => [name, exact(value)]))
  async function runAll(module, ...all) {
    for (const inputs of all) {
      see(await module.run(inputs))
      see(module.runSync(inputs))
    }
    for (const outputs of await Promise.all(all.map((inputs) => module.run(inputs)))) see(outputs)
    await module.dispose()
  }
  const floats = Float32Array.from({ length: 64 }, (_, index) => Math.sin(index))
  const large = Float32Array.from({ length: 4096 }, (_, index) => Math.cos(index))

  const SAMPLES = {
    identity: [floats, floats.subarray(4, 8), new Float32Array(0)],
    identity_float16: [Uint16Array.of(0x3c00, 0x7e01)],
    identity_float64: [Float64Array.of(NaN, -0)],
    identity_int64: [[1, 2 ** 40], BigInt64Array.of(-(2n ** 63n))],
    identity_uint8: [Buffer.from('abc')],
    identity_bool: [[true, false]],
    identity_string: [['', 'é', 'a\\0b']],
    control_flow: [{ x: floats, n: 3, flag: true }],
    sequence: [{ x: floats }],
    zipmap: [{ float_input: floats }],
    mlp_tiny: [floats],
    mlp_external: [large]
  }
  for (const [name, samples] of Object.entries(SAMPLES)) await runAll(await OnnxModule.load(generated(name)), ...samples)
  await runAll(await OnnxModule.load(readFileSync(generated('mlp_tiny'))), floats)
  const externalData = { 'mlp_external.onnx.data': readFileSync(generated('mlp_external') + '.data') }
  await runAll(await OnnxModule.load(readFileSync(generated('mlp_external')), { externalData }), large)

  const settings = { threads: 1, callers: 1 }
  const backend = new ONNXRuntimeBackend({ ...settings, graphOptimization: 'disabled' })
  const options = { strategy: new OneBackendStrategy(backend), budgetMs: 500 }
  const path = process.env.ONNXTUNE_TEST_FOLDER + '/' + process.pid + '.onnxtune'
  for (const [name, x] of [['mlp_tiny', floats.subarray(0, 16)], ['mlp_external', large.subarray(0, 1024)]]) {
    const module = await OnnxModule.load(generated(name), { ...settings, graphOptimization: 'basic' })
    const tuned = await tune(module, [x], options)
    await module.dispose()
    await tuned.save(path)
    await runAll(tuned, x)
    await runAll(await TunedModule.load(path), x)
  }
  console.log(JSON.stringify(seen))`

test(
  'load, run, runSync, tune, save and load of a checkpoint give the same to the bit inside as outside',
  { ...limit, skip },
  async (context) => {
    const outside = await runQuietly(PROGRAM, { env: { ONNXTUNE_TEST_FOLDER: folder }, killAfterMs: 50_000 })
    const { stdout, refused } = await runCaged(PROGRAM)
    context.diagnostic(`${refused} external buffers were asked for and refused`)
    assert.ok(outside.length > 50)
    assert.deepEqual(JSON.parse(stdout), outside)
    assert.equal(refused, 0, 'all buffers are memory of V8')
  }
)

const notNode = engine !== 'Node' && `${engine} runs tests by a command of its own only`
test('all ways to give inputs and to get outputs work inside', { ...limit, skip: skip || notNode }, async () => {
  const { refused } = await runCaged(`await import(${JSON.stringify(new URL('run.test.mjs', import.meta.url))})`)
  assert.equal(refused, 0)
})
