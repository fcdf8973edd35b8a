// The ONNX Runtime library: where it is looked for, what is refused, and living beside another copy of it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { basename, join } from 'node:path'
import { before, test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { versions } from '../index.js'
import { engine, generated, root, runQuietly, scratch } from './helpers.mjs'

const folder = scratch()
const { library: good, onnxruntime: goodVersion } = await versions()
const file = (name, content) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

// A shared object that exports what the C source says.
function compile(name, source) {
  const code = file(`${name}.c`, source)
  execFileSync('cc', ['-shared', '-fPIC', '-o', join(folder, `${name}.so`), code])
  return join(folder, `${name}.so`)
}
const posing = (version, api) => `
  typedef struct { const void *(*get_api)(unsigned); const char *(*get_version)(void); } Base;
  static const void *get_api(unsigned number) { return ${api}; }
  static const char *get_version(void) { return "${version}"; }
  static const Base base = { get_api, get_version };
  const Base *OrtGetApiBase(void) { return &base; }`

// The first bytes of an ELF file of 64 bits: class 2, little-endian, a shared object (3) for the machine.
function elf(machine) {
  const header = Buffer.alloc(64)
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
  header.writeUInt16LE(3, 16)
  header.writeUInt16LE(machine, 18)
  return header
}

const FAULTS = {}
const NAMES = [
  'a missing file',
  'a text file',
  'an empty file',
  'a folder',
  'a library for another architecture',
  'a header without a body',
  'half of the library',
  'a library that is no ONNX Runtime',
  'a library without an API',
  'ONNX Runtime 1.20.0',
  'a version that is no version',
  'a version without its API'
]
before(() => {
  mkdirSync(join(folder, 'a folder'))
  const other = process.arch === 'x64' ? 183 : 62
  const own = process.arch === 'x64' ? 62 : 183
  const whole = readFileSync(good)
  const cases = [
    [join(folder, 'missing.so'), 'ERR_RUNTIME_NOT_FOUND', /missing\.so/],
    [file('text.so', 'This is no library.\n'), 'ERR_RUNTIME_INVALID', /not an ELF file/],
    [file('empty.so', ''), 'ERR_RUNTIME_INVALID', /not an ELF file/],
    [join(folder, 'a folder'), 'ERR_RUNTIME_INVALID', /folder/],
    [file('other.so', elf(other)), 'ERR_RUNTIME_ARCHITECTURE', other === 183 ? /aarch64/ : /x86_64/],
    [file('header.so', elf(own)), 'ERR_RUNTIME_INVALID', /header\.so/],
    [file('half.so', whole.subarray(0, whole.length / 2)), 'ERR_RUNTIME_INVALID', /half\.so/],
    [compile('alien', 'int answer(void) { return 42; }'), 'ERR_RUNTIME_INVALID', /OrtGetApiBase/],
    [compile('null', 'void *OrtGetApiBase(void) { return 0; }'), 'ERR_RUNTIME_INVALID', /null/],
    [compile('old', posing('1.20.0', '0')), 'ERR_RUNTIME_VERSION', /1\.20\.0.*1\.\d+ or newer/],
    [compile('odd', posing('nightly', '0')), 'ERR_RUNTIME_VERSION', /nightly/],
    [compile('hollow', posing('1.99.0', '0')), 'ERR_RUNTIME_VERSION', /1\.99\.0/]
  ]
  NAMES.forEach((name, index) => (FAULTS[name] = cases[index]))
})

const PROGRAM = `
const [bad, good] = JSON.parse(process.env.LIBRARIES)
if (bad !== null) onnxtune.setRuntime({ libraryPath: bad })
const faults = []
for (const call of [() => onnxtune.OnnxModule.load(generated('identity')), () => onnxtune.versions()]) {
  await call().catch(({ name, code, library, message, hint }) => faults.push({ name, code, library, message, hint }))
}
const graph = await onnxtune.readGraph(generated('identity'))
onnxtune.setRuntime({ libraryPath: good })
const module = await onnxtune.OnnxModule.load(generated('identity'))
const { y } = await module.run(new Float32Array([1, 2, 3, 4]))
console.log(JSON.stringify({ faults, inputs: graph.inputNames, library: module.backend.library, data: [...y.data] }))
`

function assertFaults({ faults, ...after }, [path, code, reason]) {
  assert.equal(faults.length, 2, 'both calls are refused')
  for (const fault of faults) {
    assert.equal(fault.code, code, fault.message)
    assert.equal(fault.name, 'OnnxTuneError')
    assert.match(fault.message, reason)
    assert.ok(fault.message.includes(path), 'the message names the library')
    if (code === 'ERR_RUNTIME_NOT_FOUND') assert.match(fault.hint, /setRuntime.*ONNXTUNE_ORT_LIBRARY/)
    else assert.equal(fault.library, path)
  }
  assert.deepEqual(after, { inputs: ['x'], library: good, data: [1, 2, 3, 4] })
}

for (const name of NAMES) {
  test(`setRuntime to ${name}: a coded error, and the right library still loads afterwards`, async () => {
    const env = { LIBRARIES: JSON.stringify([FAULTS[name][0], good]) }
    assertFaults(await runQuietly(PROGRAM, { env }), FAULTS[name])
  })

  test(`ONNXTUNE_ORT_LIBRARY is ${name}: a coded error, and setRuntime still helps`, async () => {
    const env = { LIBRARIES: JSON.stringify([null, good]), ONNXTUNE_ORT_LIBRARY: FAULTS[name][0] }
    assertFaults(await runQuietly(PROGRAM, { env }), FAULTS[name])
  })
}

test('a process whose library is missing ends by itself', async () => {
  const env = { ONNXTUNE_ORT_LIBRARY: join(folder, 'missing.so') }
  const program = `const { code } = await onnxtune.OnnxModule.load(generated('identity')).catch((error) => error)
    console.log(JSON.stringify(code))`
  assert.equal(await runQuietly(program, { env }), 'ERR_RUNTIME_NOT_FOUND')
})

const LIBRARY = 'console.log(JSON.stringify((await onnxtune.versions()).library))'

test('setRuntime comes before the variable, the variable before the library that is shipped', async () => {
  const [first, second] = ['first.so', 'second.so'].map((name) => join(folder, name))
  symlinkSync(good, first)
  symlinkSync(good, second)
  assert.equal(await runQuietly(LIBRARY, { env: { ONNXTUNE_ORT_LIBRARY: second } }), second)
  const setting = `onnxtune.setRuntime({ libraryPath: ${JSON.stringify(first)} })\n`
  assert.equal(await runQuietly(setting + LIBRARY, { env: { ONNXTUNE_ORT_LIBRARY: second } }), first)
  assert.equal(await runQuietly(LIBRARY, { env: { ONNXTUNE_ORT_LIBRARY: '' } }), good)
  assert.equal(await runQuietly(LIBRARY), good)
})

test('relative paths and file: URLs of a library are understood', async () => {
  const link = join(folder, 'relative.so')
  symlinkSync(good, link)
  assert.equal(await runQuietly(LIBRARY, { cwd: folder, env: { ONNXTUNE_ORT_LIBRARY: './relative.so' } }), link)
  for (const path of ["'relative.so'", `new URL('${pathToFileURL(link).href}')`, `'${pathToFileURL(link).href}'`]) {
    assert.equal(await runQuietly(`onnxtune.setRuntime({ libraryPath: ${path} })\n${LIBRARY}`, { cwd: folder }), link)
  }
})

test('the library beside the addon comes before that of the checkout; without either, both are named', async () => {
  const copy = join(folder, 'copy')
  for (const name of readdirSync(root).filter((name) => /^(index|binding)\.js$|^package\.json$|\.node$/.test(name))) {
    cpSync(join(root, name), join(copy, name))
  }
  cpSync(join(root, 'lib'), join(copy, 'lib'), { recursive: true })
  const url = pathToFileURL(join(copy, 'index.js')).href
  const program = `const { default: copied } = await import(${JSON.stringify(url)})
    const { library, code, message } = await copied.versions().catch((error) => error)
    console.log(JSON.stringify({ library, code, message }))`
  const beside = join(copy, basename(good))
  const cached = join(copy, '.cache', 'onnxruntime', basename(good))
  const { code, message } = await runQuietly(program)
  assert.equal(code, 'ERR_RUNTIME_NOT_FOUND')
  assert.ok(message.includes(beside) && message.includes(cached), message)
  mkdirSync(join(copy, '.cache', 'onnxruntime'), { recursive: true })
  copyFileSync(good, cached)
  assert.deepEqual(await runQuietly(program), { library: cached })
  symlinkSync(good, beside)
  assert.deepEqual(await runQuietly(program), { library: beside })
})

test('once a library is loaded, another is refused and the same accepted', async () => {
  const program = `const { library } = await onnxtune.versions()
    onnxtune.setRuntime({ libraryPath: library })
    let fault
    try {
      onnxtune.setRuntime({ libraryPath: '/another/library.so' })
    } catch (error) {
      fault = error
    }
    const module = await onnxtune.OnnxModule.load(generated('identity'))
    console.log(JSON.stringify({ code: fault.code, library: fault.library, told: fault.message.includes(library) }))`
  assert.deepEqual(await runQuietly(program), { code: 'ERR_RUNTIME_ALREADY_LOADED', library: good, told: true })
})

test('setRuntime refuses what is no path', async () => {
  const program = `const codes = []
    for (const options of [undefined, {}, { libraryPath: 5 }, { libraryPath: null }]) {
      try {
        onnxtune.setRuntime(options)
      } catch (error) {
        codes.push(error.name + ' ' + error.code)
      }
    }
    console.log(JSON.stringify(codes))`
  assert.deepEqual(await runQuietly(program), new Array(4).fill('TypeError ERR_OPTION'))
})

test('the runtime reports to nobody and leaves nothing in the home folder, unless it is told to', async () => {
  const home = join(folder, 'home')
  mkdirSync(home)
  const env = { HOME: home, XDG_CACHE_HOME: join(home, 'cache'), XDG_CONFIG_HOME: join(home, 'config') }
  const program = `const module = await onnxtune.OnnxModule.load(generated('identity'))
    await module.run(new Float32Array(4))
    console.log(JSON.stringify(process.env.ORT_DISABLE_TELEMETRY ?? null))`
  // Bun gives programs a copy of the environment, made when they start; what is set later is not in it.
  assert.equal(await runQuietly(program, { env }), engine === 'Bun' ? null : '1')
  assert.deepEqual(readdirSync(home), [])
  assert.equal(await runQuietly(program, { env: { ORT_DISABLE_TELEMETRY: '0', HOME: home } }), '0')
})

const peer = join(root, 'bench', 'node_modules', 'onnxruntime-node')
const noPeer = !existsSync(peer) && 'onnxruntime-node is not there; run npm ci --ignore-scripts in bench'
const ours = `const ours = await onnxtune.OnnxModule.load(path)\nconst a = await ours.run({ x })\n`
const theirs = `const { InferenceSession, Tensor } = createRequire(import.meta.url)(${JSON.stringify(peer)})
  const session = await InferenceSession.create(path)
  const b = await session.run({ x: new Tensor('float32', x, [1, 16]) })\n`
for (const [order, body] of [
  ['before', ours + theirs],
  ['after', theirs + ours]
]) {
  test(`it works beside onnxruntime-node when loaded ${order} it`, { skip: noPeer }, async () => {
    const program = `import { createRequire } from 'node:module'
      const path = ${JSON.stringify(generated('mlp_tiny'))}
      const x = Float32Array.from({ length: 16 }, (_, index) => index / 8 - 1)
      ${body}
      const c = await ours.run({ x })
      const d = await session.run({ x: new Tensor('float32', x, [1, 16]) })
      const { version } = createRequire(import.meta.url)(${JSON.stringify(join(peer, 'package.json'))})
      console.log(JSON.stringify({ version, results: [a, b, c, d].map(({ y }) => [...y.data]),
        runtime: (await onnxtune.versions()).onnxruntime }))`
    const { version, results, runtime } = await runQuietly(program)
    assert.equal(version, '1.30.0')
    assert.equal(runtime, goodVersion)
    for (const result of results) {
      result.forEach((value, index) => assert.ok(Math.abs(value - results[0][index]) < 1e-6))
    }
  })
}

test('our tensors go into onnxruntime-node and its own into ours', { skip: noPeer }, async () => {
  const program = `import { createRequire } from 'node:module'
    const { InferenceSession, Tensor } = createRequire(import.meta.url)(${JSON.stringify(peer)})
    const path = ${JSON.stringify(generated('identity'))}
    const [ours, session] = [await onnxtune.OnnxModule.load(path), await InferenceSession.create(path)]
    const theirs = await session.run({ x: new Tensor('float32', Float32Array.of(1, 2, 3, 4), [1, 4]) })
    const { y } = await ours.run({ x: theirs.y })
    const { y: back } = await session.run({ x: y })
    console.log(JSON.stringify([...back.data]))`
  assert.deepEqual(await runQuietly(program), [1, 2, 3, 4])
})
