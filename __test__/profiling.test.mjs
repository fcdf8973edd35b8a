// What a module tells of its work: profiles, and which provider runs which nodes. And warming up.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { OnnxModule, OnnxTuneError } from '../index.js'
import { caught, generated, numbers, runQuietly, scratch, throwsFault } from './helpers.mjs'

const limit = { timeout: 60_000 }

test('profiling writes a Chrome trace and sums it up', limit, async () => {
  const folder = scratch()
  const prefix = join(folder, 'ä trace')
  for (const profiling of [prefix, pathToFileURL(prefix)]) {
    const module = await OnnxModule.load(generated('mlp_tiny'), { profiling })
    for (let run = 0; run < 5; run++) await module.run(numbers(16))
    module.runSync(numbers(16))
    const { path, runs, operators } = await module.endProfiling()
    assert.ok(path.startsWith(prefix) && path.endsWith('.json'), path)
    assert.equal(runs, 6)
    assert.deepEqual(operators.map(({ operator, provider, calls }) => [operator, provider, calls]).sort(), [
      ['FusedGemm', 'CPUExecutionProvider', 6],
      ['Gemm', 'CPUExecutionProvider', 6],
      ['Softmax', 'CPUExecutionProvider', 6]
    ])
    assert.ok(Math.abs(operators.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9)
    const times = operators.map(({ totalMs }) => totalMs)
    assert.deepEqual(
      times,
      [...times].sort((a, b) => b - a),
      'the costliest first'
    )
    const events = JSON.parse(readFileSync(path, 'utf8'))
    assert.ok(Array.isArray(events) && events.every(({ cat, name, ts, dur }) => cat && name && ts >= 0 && dur >= 0))
    const nodes = events.filter(({ cat, name }) => cat === 'Node' && name.endsWith('_kernel_time'))
    assert.equal(nodes.length, 18)
    const sum = nodes.reduce((total, { dur }) => total + dur, 0) / 1e3
    assert.ok(Math.abs(times.reduce((total, time) => total + time) - sum) < 1e-6)
    // It has ended; the module runs on.
    assert.equal(await module.endProfiling(), null)
    assert.deepEqual((await module.run(numbers(16))).y.dims, [1, 4])
    await module.dispose()
    await throwsFault(module.endProfiling(), OnnxTuneError, 'ERR_DISPOSED')
  }
})

test('profiles of models without runs, and of several modules at once, are their own', limit, async () => {
  const folder = scratch()
  const modules = []
  for (const name of ['mlp_tiny', 'names', 'strings']) {
    modules.push(await OnnxModule.load(generated(name), { profiling: join(folder, name) }))
  }
  await modules[1].warmup()
  const [idle, names, strings] = await Promise.all(modules.map((module) => module.endProfiling()))
  assert.deepEqual({ runs: idle.runs, operators: idle.operators }, { runs: 0, operators: [] })
  assert.equal(names.runs, 1)
  assert.deepEqual(names.operators.map(({ operator }) => operator).sort(), ['Add', 'Cast', 'MatMul'])
  assert.equal(strings.runs, 0)
  await Promise.all(modules.map((module) => module.dispose()))
})

test('without profiling there is no profile and no file', limit, async () => {
  const folder = scratch()
  const program = `for (const profiling of [undefined, false, true]) {
      const module = await onnxtune.OnnxModule.load(generated('mlp_tiny'), { profiling })
      await module.warmup()
      const profile = await module.endProfiling()
      assert.equal(profile === null, profiling !== true)
      if (profile !== null) console.log(JSON.stringify(profile.path))
      await module.dispose()
    }`
  const path = await runQuietly(program, { cwd: folder })
  // Named in the current folder, by the default prefix.
  assert.match(path, /^onnxtune-profile_.*\.json$/)
  assert.deepEqual(readdirSync(folder), [path])
})

test('a trace that cannot be written is an error when it is asked for', limit, async () => {
  const profiling = join(scratch(), 'nowhere', 'trace')
  const module = await OnnxModule.load(generated('mlp_tiny'), { profiling })
  assert.deepEqual((await module.run(numbers(16))).y.dims, [1, 4])
  await throwsFault(module.endProfiling(), OnnxTuneError, 'ERR_PROFILE', { message: /nowhere/ })
  assert.equal(await module.endProfiling(), null)
  await module.dispose()
})

test('a module that is disposed first writes its trace all the same', limit, async () => {
  const folder = scratch()
  const module = await OnnxModule.load(generated('mlp_tiny'), { profiling: join(folder, 'trace') })
  await module.warmup()
  await module.dispose()
  const [name, ...others] = readdirSync(folder)
  assert.deepEqual(others, [])
  const events = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  assert.equal(events.filter((event) => event.name === 'model_run').length, 1)
})

test('the placement is read back from the runtime', limit, async () => {
  const expected = {
    mlp_tiny: { Gemm: 2, Relu: 1, Softmax: 1 },
    names: { Add: 1, Cast: 1, MatMul: 1 },
    strings: { Identity: 1, 'ai.onnx.ml::LabelEncoder': 1 }
  }
  for (const [name, operators] of Object.entries(expected)) {
    const module = await OnnxModule.load(generated(name), { graphOptimization: 'disabled' })
    const nodes = Object.values(operators).reduce((sum, count) => sum + count)
    assert.deepEqual(module.placement, [{ provider: 'CPUExecutionProvider', nodes, operators }], name)
    await module.dispose()
    await throwsFault(() => module.placement, OnnxTuneError, 'ERR_DISPOSED')
  }
})

test('fixed dimensions let the runtime fold nodes away, which the placement shows', limit, async () => {
  const operators = async (options) => {
    const module = await OnnxModule.load(generated('bert6'), options)
    const [{ operators }] = module.placement
    await module.dispose()
    return operators
  }
  const { Shape, Range } = await operators({})
  assert.deepEqual({ Shape, Range }, { Shape: 1, Range: 1 })
  const fixed = await operators({ dimensionOverrides: { batch: 1, sequence: 16 } })
  assert.ok(!('Shape' in fixed) && !('Range' in fixed) && fixed.Softmax === 6)
})

test('warmup runs once on zeros of the shapes given', limit, async () => {
  const folder = scratch()
  const module = await OnnxModule.load(generated('concat'), { profiling: join(folder, 'trace') })
  assert.equal(await module.warmup(), undefined)
  await module.warmup({ a: [3, 2] })
  await module.warmup({ a: [0, 2], b: [5, 2] })
  const { path, runs } = await module.endProfiling()
  assert.equal(runs, 3)
  const nodes = JSON.parse(readFileSync(path, 'utf8')).filter(({ cat }) => cat === 'Node')
  const shapes = nodes.map(({ args }) => args.output_type_shape[0].float)
  assert.deepEqual(shapes, [
    [2, 2],
    [4, 2],
    [5, 2]
  ])
  for (const shape of [[1], [1, 2, 3], [1, 3]]) {
    await throwsFault(module.warmup({ a: shape }), RangeError, 'ERR_INPUT_SHAPE', { input: 'a' })
  }
  for (const shapes of [null, [1, 2], { a: 3 }, { a: '1,2' }, { a: [-1, 2] }, { a: [1.5, 2] }, { a: null }]) {
    assert.equal((await caught(module.warmup(shapes))).code, 'ERR_OPTION', JSON.stringify(shapes))
  }
  await throwsFault(module.warmup({ c: [1, 2] }), TypeError, 'ERR_OPTION', { received: 'c', expected: ['a', 'b'] })
  await module.dispose()
  await throwsFault(module.warmup(), OnnxTuneError, 'ERR_DISPOSED')
})

test('warmup makes inputs of every kind', limit, async () => {
  const models = ['dunder', 'names', 'strings', 'scalar', 'zipmap', 'identity_bool', 'identity_int64', 'resnet18_fp16']
  for (const name of models) {
    assert.ok(existsSync(generated(name)))
    const module = await OnnxModule.load(generated(name))
    await module.warmup()
    await module.dispose()
  }
})
