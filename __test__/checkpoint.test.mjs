// Checkpoints: whole after a round trip, coded errors for everything else.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { ONNXRuntimeBackend, OneBackendStrategy, OnnxModule, OnnxTuneError, TunedModule, tune } from '../index.js'
import { caught, generated, numbers, plain, python, runProgram, runQuietly, scratch, throwsFault } from './helpers.mjs'

const folder = scratch()
const limit = { timeout: 60_000 }

// A model tuned from settings that are not the defaults, so that whoever wins has some to be kept.
async function tuned(source, sample, budgetMs = 300) {
  const module = await OnnxModule.load(source, { threads: 1, callers: 2, graphOptimization: 'basic' })
  const backend = new ONNXRuntimeBackend({ threads: 1, callers: 1, graphOptimization: 'extended' })
  const result = await tune(module, [sample], { budgetMs, strategy: new OneBackendStrategy(backend) })
  await module.dispose()
  return result
}
const tuneTiny = () => tuned(generated('mlp_tiny'), numbers(16))

// Copies of a model with its external data, so that they can be changed or removed.
function copyOf(name, into) {
  mkdirSync(join(folder, into), { recursive: true })
  const copy = join(folder, into, `${name}.onnx`)
  copyFileSync(generated(name), copy)
  if (name === 'mlp_external') copyFileSync(`${generated(name)}.data`, `${copy}.data`)
  return copy
}

let saved
let bytes
before(async () => {
  const module = await tuneTiny()
  saved = join(folder, 'saved.onnxtune')
  assert.equal(await module.save(saved), undefined)
  await module.dispose()
  bytes = readFileSync(saved)
})

// Rewrites the entries of a checkpoint: `change` is Python that works on `entries`, a dict of names to bytes.
const REWRITE = `
import sys, json, zipfile
source, target, change, compression = sys.argv[1:]
with zipfile.ZipFile(source) as archive:
    entries = {name: archive.read(name) for name in archive.namelist()}
manifest = json.loads(entries['manifest.json'])
exec(change)
if 'manifest.json' in entries and entries['manifest.json'][:1] == b'{':
    entries['manifest.json'] = json.dumps(manifest).encode()
with zipfile.ZipFile(target, 'w', int(compression)) as archive:
    for name, data in entries.items():
        archive.writestr(name, data)
`
let rewritten = 0
function rewrite(change, compression = 0) {
  const target = join(folder, `rewritten-${rewritten++}`)
  execFileSync(python, ['-c', REWRITE, saved, target, change, String(compression)])
  return target
}

const x = numbers(48, 5)
async function outputsOf(path) {
  const module = await TunedModule.load(path)
  const outputs = plain(await module.run({ x }))
  await module.dispose()
  return outputs
}

test('what is saved is what is loaded: settings, report, graph and answers', limit, async () => {
  const original = await tuneTiny()
  const path = join(folder, 'round')
  await original.save(path)
  for (const name of [path, pathToFileURL(path), pathToFileURL(path).href]) {
    const loaded = await TunedModule.load(name)
    assert.ok(loaded instanceof TunedModule)
    assert.deepEqual(loaded.report.toJSON(), original.report.toJSON())
    assert.deepEqual(loaded.candidate, original.candidate)
    assert.deepEqual(loaded.backend, original.backend)
    assert.deepEqual({ ...loaded.graphInfo, modelPath: null }, { ...original.graphInfo, modelPath: null })
    assert.deepEqual(plain(await loaded.run({ x })), plain(await original.run({ x })))
    await loaded.dispose()
  }
  const { threads, graphOptimization } = original.backend.settings.backend
  assert.equal(threads, 1)
  assert.match(graphOptimization, /^(basic|extended)$/)
  await original.dispose()
})

test('a checkpoint is a zip of stored entries with the manifest first and all hashes right', limit, () => {
  const program = `import sys, json, hashlib, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None
    assert all(entry.compress_type == 0 for entry in archive.infolist())
    manifest = json.loads(archive.read('manifest.json'))
    for part in manifest['parts']:
        data = archive.read(part['name'])
        assert [len(data), hashlib.sha256(data).hexdigest()] == [part['bytes'], part['sha256']]
    print(json.dumps([archive.namelist(), manifest]))`
  const [names, manifest] = JSON.parse(execFileSync(python, ['-c', program, saved], { encoding: 'utf8' }))
  assert.deepEqual(names, ['manifest.json', 'model.onnx', 'report.json'])
  const {
    format,
    schemaVersion,
    machine: { onnxruntime, cpuFeatures, os }
  } = manifest
  assert.deepEqual({ format, schemaVersion }, { format: 'onnxtune-checkpoint', schemaVersion: 1 })
  assert.ok(/^1\./.test(onnxruntime) && Array.isArray(cpuFeatures) && os === process.platform)
})

test('it loads in another process, with the source gone, from a folder that nobody writes to', limit, async () => {
  for (const name of ['mlp_external', 'wide_external']) {
    const source = name === 'mlp_external' ? copyOf(name, 'gone') : generated(name)
    const size = name === 'mlp_external' ? 1024 : 512
    const module = await tuned(source, numbers(size), 1500)
    const expected = [...(await module.run(numbers(size))).y.data]
    const place = join(folder, `read-only-${name}`)
    mkdirSync(place)
    await module.save(join(place, 'model'))
    await module.dispose()
    if (name === 'mlp_external') rmSync(join(folder, 'gone'), { recursive: true })
    chmodSync(join(place, 'model'), 0o444)
    chmodSync(place, 0o555)
    const { mtimeMs } = statSync(place)
    const program = `const module = await onnxtune.TunedModule.load('model')
      const { y } = await module.run(new Float32Array(${JSON.stringify([...numbers(size)])}))
      console.log(JSON.stringify([...y.data]))`
    assert.deepEqual(await runQuietly(program, { cwd: place }), expected)
    // The superuser may write in spite of the modes, so it is looked at that nothing was.
    assert.deepEqual(readdirSync(place), ['model'])
    assert.equal(statSync(place).mtimeMs, mtimeMs)
    chmodSync(place, 0o755)
  }
})

test('a model given as bytes and one loaded from a checkpoint can be saved', limit, async () => {
  const first = await tuned(readFileSync(generated('mlp_tiny')), numbers(16))
  const paths = [1, 2].map((generation) => join(folder, `generation-${generation}`))
  await first.save(paths[0])
  const second = await TunedModule.load(paths[0])
  await second.save(paths[1])
  // Over the very file that it runs from.
  await second.save(paths[0])
  assert.deepEqual(plain(await second.run({ x })), await outputsOf(paths[0]))
  assert.deepEqual(await outputsOf(paths[1]), await outputsOf(paths[0]))
  await Promise.all([first.dispose(), second.dispose()])
})

test('a flipped byte anywhere is a coded error or changes nothing, and never a crash', limit, async () => {
  const wide = await tuned(generated('wide_external'), numbers(512), 1000)
  await wide.save(join(folder, 'wide'))
  await wide.dispose()
  for (const [path, size] of [
    [saved, 16],
    [join(folder, 'wide'), 512]
  ]) {
    const program = `import { readFileSync, writeFileSync } from 'node:fs'
      const bytes = readFileSync(${JSON.stringify(path)})
      const x = new Float32Array(${size}).fill(0.25)
      const run = async (path) => {
        const module = await onnxtune.TunedModule.load(path)
        const { y } = await module.run(x)
        await module.dispose()
        return [...y.data].join()
      }
      const expected = await run(${JSON.stringify(path)})
      const counts = {}
      for (let step = 0; step < 200; step++) {
        // The first and the last bytes, which hold the structure, and the rest spread over the file.
        const spread = Math.floor((step - 60) * (bytes.length - 1) / 139)
        const position = step < 40 ? step : step < 60 ? bytes.length - 1 - (step - 40) : spread
        const damaged = Buffer.from(bytes)
        damaged[position] ^= step % 2 ? 0xff : 0x01
        writeFileSync(${JSON.stringify(`${path}.flipped`)}, damaged)
        const outcome = await run(${JSON.stringify(`${path}.flipped`)}).then(
          (data) => (data === expected ? 'same' : 'WRONG at ' + position),
          (error) => (error instanceof onnxtune.OnnxTuneError ? error.code : String(error)))
        counts[outcome] = (counts[outcome] ?? 0) + 1
      }
      console.log(JSON.stringify(counts))`
    const counts = await runQuietly(program, { killAfterMs: 50_000 })
    assert.equal(
      Object.values(counts).reduce((sum, count) => sum + count),
      200
    )
    const allowed = ['same', 'ERR_CHECKPOINT_INVALID', 'ERR_CHECKPOINT_DAMAGED', 'ERR_CHECKPOINT_VERSION']
    assert.deepEqual(
      Object.keys(counts).filter((outcome) => !allowed.includes(outcome)),
      []
    )
    assert.ok(counts.ERR_CHECKPOINT_DAMAGED > 100, JSON.stringify(counts))
  }
})

test('a file that is cut off anywhere is refused', limit, async () => {
  const path = join(folder, 'cut')
  for (const share of [0.001, 0.1, 0.5, 0.9, 0.999]) {
    writeFileSync(path, bytes.subarray(0, Math.max(1, Math.floor(bytes.length * share))))
    const { name, code } = await caught(TunedModule.load(path))
    assert.equal(name, 'OnnxTuneError')
    assert.match(code, /^ERR_CHECKPOINT_(DAMAGED|INVALID)$/, String(share))
  }
})

const DAMAGED = {
  'a newer schema': ["manifest['schemaVersion'] = 99", 'ERR_CHECKPOINT_VERSION', /schema 99.*up to 1/],
  'another format': ["manifest['format'] = 'zipped'", 'ERR_CHECKPOINT_INVALID', /not that of a checkpoint/],
  'no manifest': ["del entries['manifest.json']", 'ERR_CHECKPOINT_INVALID', /no manifest/],
  'a manifest of text': ["entries['manifest.json'] = b'hello'", 'ERR_CHECKPOINT_INVALID', /not JSON/],
  'a manifest without settings': ["del manifest['settings']", 'ERR_CHECKPOINT_DAMAGED', /settings/],
  'an entry too many': ["entries['extra'] = b'x'", 'ERR_CHECKPOINT_DAMAGED', /entries/],
  'a missing part': ["del entries['model.onnx']", 'ERR_CHECKPOINT_DAMAGED', /entries|model\.onnx/],
  'a missing part in the manifest too': [
    "del entries['model.onnx']; manifest['parts'] = manifest['parts'][1:]",
    'ERR_CHECKPOINT_DAMAGED',
    /model\.onnx/
  ],
  'another model in its place': [
    `entries['model.onnx'] = open(${JSON.stringify(generated('identity'))}, 'rb').read()`,
    'ERR_CHECKPOINT_DAMAGED',
    /model\.onnx/
  ],
  'no callers': ["manifest['settings']['callers'] = 0", 'ERR_CHECKPOINT_DAMAGED', /callers/],
  'no threads': ["manifest['settings']['backend']['threads'] = 0", 'ERR_CHECKPOINT_DAMAGED', /threads/],
  'more callers than a machine has room for': [
    "manifest['settings']['callers'] = 10**9",
    'ERR_CHECKPOINT_DAMAGED',
    /callers/
  ],
  'a negative number of callers': ["manifest['settings']['callers'] = -1", 'ERR_CHECKPOINT_DAMAGED', /-1/],
  'a backend that does not exist': [
    "manifest['settings']['backend']['name'] = 'magic'",
    'ERR_CHECKPOINT_DAMAGED',
    /magic/
  ]
}
for (const [what, [change, code, message]] of Object.entries(DAMAGED)) {
  test(`a checkpoint with ${what} is refused as ${code}`, limit, async () => {
    const path = rewrite(change)
    // In a process of its own, since what is read here could bring it down.
    const program = `const module = await onnxtune.TunedModule.load(${JSON.stringify(path)}).catch((error) => error)
      console.log(JSON.stringify({ name: module.name, code: module.code, message: module.message }))`
    const error = await runQuietly(program)
    assert.deepEqual({ name: error.name, code: error.code }, { name: 'OnnxTuneError', code }, error.message)
    assert.match(error.message, message)
  })
}

test('a checkpoint reads no weights from outside itself', limit, async () => {
  const path = rewrite(`import hashlib
data = entries['model.onnx'] = open(${JSON.stringify(generated('mlp_external'))}, 'rb').read()
part = next(part for part in manifest['parts'] if part['name'] == 'model.onnx')
part.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())`)
  const program = `const module = await onnxtune.TunedModule.load(${JSON.stringify(path)}).catch((error) => error)
    console.log(JSON.stringify({ code: module.code }))`
  // The weights lie in this folder, under the very name that the model has for them.
  const { code } = await runQuietly(program, { cwd: dirname(generated('mlp_external')) })
  assert.match(String(code), /^ERR_(CHECKPOINT_DAMAGED|EXTERNAL_DATA_MISSING)$/)
})

test('compressed entries are refused', limit, async () => {
  await throwsFault(TunedModule.load(rewrite('', 8)), OnnxTuneError, 'ERR_CHECKPOINT_DAMAGED', { message: /compress/ })
})

test('a checkpoint that was only written anew still loads', limit, async () => {
  assert.deepEqual(await outputsOf(rewrite('')), await outputsOf(saved))
})

test('files that are no checkpoints are refused', limit, async () => {
  const file = (name, content) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  mkdirSync(join(folder, 'a-folder'))
  const sources = [
    [file('empty', ''), 'ERR_CHECKPOINT_INVALID', /empty/],
    [file('text', 'hello'), 'ERR_CHECKPOINT_INVALID', /zip/],
    [generated('identity'), 'ERR_CHECKPOINT_INVALID', /zip/],
    [join(folder, 'a-folder'), 'ERR_CHECKPOINT_INVALID', /file/],
    [join(folder, 'missing'), 'ERR_CHECKPOINT_NOT_FOUND', /missing/],
    [join(saved, 'below-a-file'), 'ERR_CHECKPOINT_NOT_FOUND', /below-a-file/]
  ]
  for (const [source, code, message] of sources) {
    await throwsFault(TunedModule.load(source), OnnxTuneError, code, { message })
  }
  for (const source of [5, null, undefined, bytes, {}, '', 'a\0b', new URL('http://example.org/a')]) {
    await throwsFault(TunedModule.load(source), TypeError, 'ERR_SOURCE')
  }
})

test('places that cannot be written are refused, and nothing is left there', limit, async () => {
  const module = await TunedModule.load(saved)
  mkdirSync(join(folder, 'occupied'))
  const places = [join(folder, 'no', 'where'), join(folder, 'occupied'), join(saved, 'below'), '/proc/checkpoint']
  for (const path of places) {
    await throwsFault(module.save(path), OnnxTuneError, 'ERR_CHECKPOINT_UNWRITABLE', { message: /can't write/ })
  }
  for (const path of [undefined, 5, '']) await throwsFault(module.save(path), TypeError, 'ERR_SOURCE')
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.tmp')),
    []
  )
  assert.deepEqual(readdirSync(join(folder, 'occupied')), [])
  assert.ok(!existsSync(join(folder, 'no')))
  await module.dispose()
})

// Replaces a byte of a weight without changing the size.
function changeInPlace(path) {
  const content = readFileSync(path)
  content[content.length - 100] ^= 0x10
  writeFileSync(path, content)
}

test('what changed since the tune is not saved, and the old checkpoint stays whole', limit, async () => {
  for (const changed of ['mlp_external.onnx', 'mlp_external.onnx.data']) {
    const source = copyOf('mlp_external', `changing-${changed}`)
    const module = await tuned(source, numbers(1024), 1500)
    const path = join(folder, `changed-${changed}`)
    await module.save(path)
    const old = readFileSync(path)
    changeInPlace(join(folder, `changing-${changed}`, changed))
    const error = await caught(module.save(path))
    assert.equal(error.code, 'ERR_MODEL_CHANGED', error.message)
    assert.ok(readFileSync(path).equals(old), 'the old file is whole')
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.tmp')),
      []
    )
    await module.dispose()
  }
})

test('a model that was replaced or removed is saved as it was tuned, or refused', limit, async () => {
  const source = copyOf('mlp_tiny', 'replaced')
  const module = await tuned(source, numbers(16))
  const expected = plain(await module.run({ x }))
  copyFileSync(generated('identity'), `${source}.new`)
  renameSync(`${source}.new`, source)
  const path = join(folder, 'after-replacement')
  const error = await module.save(path).catch((error) => error)
  if (error === undefined) assert.deepEqual(await outputsOf(path), expected)
  else assert.equal(error.code, 'ERR_MODEL_CHANGED')
  await module.dispose()
})

test('a model that was overwritten by a shorter one crashes nothing', limit, async () => {
  const source = copyOf('resnet18', 'shortened')
  const program = `import { writeFileSync } from 'node:fs'
    const image = new Float32Array(3 * 224 * 224)
    const module = await onnxtune.OnnxModule.load(${JSON.stringify(source)})
    const backend = new onnxtune.ONNXRuntimeBackend({ threads: 1, callers: 1 })
    const strategy = new onnxtune.OneBackendStrategy(backend)
    const tuned = await onnxtune.tune(module, [image], { budgetMs: 1500, strategy })
    writeFileSync(${JSON.stringify(source)}, 'short')
    const codes = []
    for (const work of [() => tuned.save(${JSON.stringify(join(folder, 'short'))}),
      () => onnxtune.tune(module, [image], { budgetMs: 1500, strategy })]) {
      codes.push((await work().catch((error) => error))?.code)
    }
    console.log(JSON.stringify(codes))`
  const { stdout, ...ended } = await runProgram(program)
  assert.deepEqual(ended, { code: 0, signal: null, timedOut: false, stderr: '' })
  const [save] = JSON.parse(stdout)
  assert.match(save, /^ERR_MODEL_/)
})

test('saving and loading are aborted, and leave nothing', limit, async () => {
  const module = await tuned(generated('mlp_external'), numbers(1024), 1500)
  const path = join(folder, 'aborted')
  const saving = new AbortController()
  const first = caught(module.save(path, { signal: saving.signal }))
  saving.abort()
  assert.equal((await first).code, 'ABORT_ERR')
  assert.ok(!existsSync(path))
  assert.equal((await caught(module.save(path, { signal: AbortSignal.abort() }))).code, 'ABORT_ERR')
  await module.save(path)
  const old = readFileSync(path)
  const again = new AbortController()
  const overwriting = caught(module.save(path, { signal: again.signal }))
  again.abort()
  assert.equal((await overwriting).code, 'ABORT_ERR')
  assert.ok(readFileSync(path).equals(old), 'the old file is whole')
  const loading = new AbortController()
  const loaded = caught(TunedModule.load(path, { signal: loading.signal }))
  loading.abort()
  assert.equal((await loaded).code, 'ABORT_ERR')
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.tmp')),
    []
  )
  await module.dispose()
})
