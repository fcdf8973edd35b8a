// What a user gets: the packed tarballs, installed into an empty folder without a network, a compiler or the checkout.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const windows = process.platform === 'win32'
const python = process.env.PYTHON ?? (windows ? 'python' : 'python3')
const app = realpathSync(mkdtempSync(join(tmpdir(), 'onnxtune-packed-')))
const modules = join(app, 'node_modules')

// Neither a Rust toolchain on PATH nor a variable that could lead to another runtime library.
function bareEnvironment() {
  const environment = Object.entries(process.env).filter(([name]) => !/^(ONNXTUNE_|ORT_|NAPI_RS_|NODE_)/.test(name))
  const tools = windows ? ['cargo.exe', 'rustc.exe'] : ['cargo', 'rustc']
  const hasRust = (folder) => tools.some((tool) => existsSync(join(folder, tool)))
  const path = process.env.PATH.split(delimiter).filter((folder) => !hasRust(folder))
  return { ...Object.fromEntries(environment), PATH: path.join(delimiter) }
}

const run = (command, args, options) =>
  execFileSync(command, args, { encoding: 'utf8', timeout: 120_000, stdio: ['ignore', 'pipe', 'pipe'], ...options })

// Runs a program in the folder of the app; returns the JSON that it prints.
function runProgram(name, source) {
  writeFileSync(join(app, name), source)
  return JSON.parse(run(process.execPath, [name], { cwd: app, env: bareEnvironment() }))
}

// The body of both programs. `libraries` are the runtime libraries that the process has mapped (Linux only).
const program = `
async function main() {
  const model = await OnnxModule.load('identity.onnx')
  const { y } = await model.run({ x: new Float32Array([1, 2, 3, 4]) })
  await model.dispose()
  const maps = process.platform === 'linux' ? readFileSync('/proc/self/maps', 'utf8') : ''
  const libraries = [...new Set(maps.match(/\\/.*onnxruntime.*/g))]
  console.log(JSON.stringify({ data: [...y.data], dims: [...y.dims], libraries }))
}
main()
`
const expected = { data: [1, 2, 3, 4], dims: [1, 4] }

function nativePackage() {
  const names = readdirSync(modules).filter((name) => name.startsWith('onnxtune-'))
  assert.equal(names.length, 1, `one platform package is installed, found: ${names}`)
  return join(modules, names[0])
}

function assertAnswer({ libraries, ...answer }) {
  assert.deepEqual(answer, expected)
  if (process.platform === 'linux')
    assert.deepEqual(libraries, [join(nativePackage(), 'libonnxtune_onnxruntime.so')], 'the packaged library, no other')
}

before(() => {
  run(process.execPath, ['scripts/pack.mjs'], { cwd: root })
  run(python, ['scripts/make_models.py'], { cwd: root })
  copyFileSync(join(root, '.cache/models/generated/identity.onnx'), join(app, 'identity.onnx'))
  writeFileSync(join(app, 'package.json'), '{ "private": true }\n')
  const pack = join(root, '.cache', 'pack')
  const tarballs = readdirSync(pack)
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => join(pack, name))
  const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund']
  run('npm', ['install', ...options, ...tarballs], { cwd: app, shell: windows })
})

after(() => rmSync(app, { recursive: true, force: true }))

test('an ES module runs a model', () => {
  const head = "import { readFileSync } from 'node:fs'\nimport { OnnxModule } from 'onnxtune'\n"
  assertAnswer(runProgram('program.mjs', head + program))
})

test('a CommonJS module runs a model', () => {
  const head = "const { readFileSync } = require('node:fs')\nconst { OnnxModule } = require('onnxtune')\n"
  assertAnswer(runProgram('program.cjs', head + program))
})

test('no package runs scripts, and only the platform package is depended on', () => {
  const read = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const main = read(join(modules, 'onnxtune'))
  const native = read(nativePackage())
  assert.equal(main.scripts, undefined)
  assert.equal(native.scripts, undefined)
  assert.equal(main.devDependencies, undefined)
  assert.equal(main.optionalDependencies[native.name], main.version)
  assert.equal(native.version, main.version)
})

test('every licence comes along', () => {
  for (const file of ['LICENSE', 'THIRD-PARTY-NOTICES.md', 'onnxruntime-LICENSE', 'onnxruntime-ThirdPartyNotices.txt'])
    assert.ok(readFileSync(join(nativePackage(), file), 'utf8').length > 500, `${file} is in the platform package`)
  assert.match(readFileSync(join(nativePackage(), 'onnxruntime-LICENSE'), 'utf8'), /MIT License/)
  assert.match(readFileSync(join(modules, 'onnxtune', 'LICENSE'), 'utf8'), /Apache License/)
})
