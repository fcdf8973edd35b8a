// Runs the tests of the package in other engines than the one at hand, and prints what came of it.
//
//   engines.mjs [engine...]   all of scripts/engines/package.json, or those named: node24 bun
//
// The engines come from npm, by exact version and integrity (scripts/engines/package-lock.json), into .cache/engines.
// Each file of tests runs in a process of its own. The addon is the one that lies in the checkout: build it first.
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const { table } = createRequire(import.meta.url)('../lib/table.js')

const root = fileURLToPath(new URL('..', import.meta.url))
const pins = join(root, 'scripts', 'engines')
const cache = join(root, '.cache', 'engines')
const reports = join(cache, 'reports')

// A limit for hangs, no measure of speed.
const KILL_AFTER_MS = 10 * 60_000

const LEFT_OUT = { 'packed.test.mjs': 'it packs with npm and Rust, and installs with npm; npm test runs it' }

// Engines that have Float16Array must not skip what is about it.
const FLOAT16 = /float16 is taken as Float16Array/

const node = {
  name: 'Node',
  program: 'bin/node',
  // The first releases of Node 20 have no reporter for JUnit.
  args: (file, report) => [
    '--test',
    ...['--test-reporter=tap', `--test-reporter-destination=${report}`],
    ...['--test-reporter=spec', '--test-reporter-destination=stdout', file]
  ],
  read: readTap
}
const ENGINES = {
  'node20.3': node,
  node20: node,
  node22: node,
  node24: { ...node, mustPass: FLOAT16 },
  node26: { ...node, mustPass: FLOAT16 },
  bun: {
    name: 'Bun',
    program: 'bin/bun',
    // Its own limit is 5 s for tests that set none.
    args: (file, report) => [
      'test',
      '--timeout=60000',
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      `./${file}`
    ],
    read: readJUnit,
    mustPass: FLOAT16
  },
  deno: {
    name: 'Deno',
    program: 'deno',
    // Outside of node_modules it takes .js for an ES module unless it is told to look.
    args: (file, report) => ['test', '-A', '--no-check', '--unstable-detect-cjs', `--junit-path=${report}`, file],
    read: readJUnit,
    mustPass: FLOAT16
  }
}

function fail(message) {
  console.error(`engines: ${message}`)
  process.exit(1)
}

// Neither what npm nor what Node tells its children; caches of the engines lie where the engines do.
const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|ONNXTUNE_)/i.test(name))
const env = {
  ...Object.fromEntries(inherited),
  NO_COLOR: '1',
  DENO_DIR: join(cache, 'deno'),
  DENO_NO_UPDATE_CHECK: '1',
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0'
}

function fetchEngines() {
  if (process.platform !== 'linux' || process.arch !== 'x64') fail('the engines are pinned for Linux on x64 only')
  const lock = readFileSync(join(pins, 'package-lock.json'), 'utf8')
  const stamp = join(cache, '.stamp')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  rmSync(stamp, { force: true })
  mkdirSync(cache, { recursive: true })
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(join(pins, file), join(cache, file))
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: cache, env, stdio: ['ignore', 'inherit', 'inherit'] })
  writeFileSync(stamp, lock)
}

// The files of tests, relative to the root.
function testFiles() {
  const found = readdirSync(join(root, '__test__'), { recursive: true })
  const tests = found.filter((file) => file.endsWith('.test.mjs') && !Object.hasOwn(LEFT_OUT, basename(file)))
  return tests.sort().map((file) => join('__test__', file))
}

// Runs a command to its end; gives what it printed and how it ended: its code, or the signal.
async function run(program, args) {
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  const [code, signal] = await new Promise((resolve) => child.on('close', (...ended) => resolve(ended)))
  clearTimeout(timer)
  return { output, ending: code ?? signal }
}

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const unescape = (text) =>
  text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (_, decimal, hex, name) =>
    name ? ENTITIES[name] : String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16))
  )

// The tests of a report: name, outcome, and the reason of a skip where the format has it.
function readTap(report) {
  const points = /^(not )?ok \d+ - (.*?)(?: # (?:(SKIP)|TODO)(?: (.*))?)?$/gm
  return [...report.matchAll(points)].map(([, not, name, skip, reason]) => ({
    name: name.replaceAll(/\\([\\#])/g, '$1'),
    outcome: skip ? 'skipped' : not ? 'failed' : 'passed',
    reason
  }))
}

function readJUnit(report) {
  const cases = /<testcase((?:\s+[\w:-]+="[^"]*")*)\s*(?:\/>|>(.*?)<\/testcase>)/gs
  return [...report.matchAll(cases)].map(([, attributes, body = '']) => {
    const outcome = /<skipped\b/.test(body) ? 'skipped' : /<(failure|error)\b/.test(body) ? 'failed' : 'passed'
    return { name: unescape(/\sname="([^"]*)"/.exec(attributes)[1]), outcome }
  })
}

// Runs all files in one engine; gives its tests, and tells of what fails as it comes.
async function runEngine(id, files) {
  const { name, program, args, read, mustPass } = ENGINES[id]
  const path = join(cache, 'node_modules', id, program)
  const version = /\d+\.\d+\.\d+/.exec((await run(path, ['--version'])).output)[0]
  const engine = `${name} ${version}`
  const tests = []
  for (const file of files) {
    const report = join(reports, `${id}-${file.replaceAll(sep, '-')}`)
    const { output, ending } = await run(path, args(file, report))
    const found = existsSync(report) ? read(readFileSync(report, 'utf8')) : []
    // A file that fails as a whole need not be in the report.
    if (ending !== 0 && !found.some(({ outcome }) => outcome === 'failed'))
      found.push({ name: `all of it (ended with ${ending})`, outcome: 'failed' })
    else if (found.length === 0) found.push({ name: 'no test was found', outcome: 'failed' })
    const failed = found.filter(({ outcome }) => outcome === 'failed').length
    console.error(`${engine}: ${file}: ${failed > 0 ? `${failed} failed\n${output}` : `${found.length} well`}`)
    tests.push(...found.map((test) => ({ ...test, file: relative('__test__', file) })))
  }
  if (mustPass && !tests.some((test) => test.outcome === 'passed' && mustPass.test(test.name)))
    tests.push({ file: 'engines.mjs', name: `no test ran that matches ${mustPass}`, outcome: 'failed' })
  return { name, version, engine, tests }
}

function print(results) {
  const count = ({ tests }, wanted) => String(tests.filter(({ outcome }) => outcome === wanted).length)
  const leftOut = Object.keys(LEFT_OUT).join(', ')
  const rows = results.map((result) => [
    ...[result.name, result.version],
    ...['passed', 'failed', 'skipped'].map((outcome) => count(result, outcome)),
    leftOut
  ])
  console.log(table(['engine', 'version', 'passed', 'failed', 'skipped', 'left out'], rows))
  for (const [file, reason] of Object.entries(LEFT_OUT)) console.log(`\nleft out: ${file}: ${reason}`)
  for (const wanted of ['skipped', 'failed'])
    for (const { engine, tests } of results)
      for (const { file, name, outcome, reason } of tests)
        if (outcome === wanted) console.log(`${wanted}: ${engine}: ${file}: ${name}${reason ? `: ${reason}` : ''}`)
}

const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(ENGINES)
for (const id of wanted)
  if (!Object.hasOwn(ENGINES, id)) fail(`there is no engine ${id}; there are ${Object.keys(ENGINES).join(', ')}`)
fetchEngines()
rmSync(reports, { recursive: true, force: true })
mkdirSync(reports, { recursive: true })
const files = testFiles()
const results = []
for (const id of wanted) results.push(await runEngine(id, files))
print(results)
if (results.some(({ tests }) => tests.some(({ outcome }) => outcome === 'failed'))) process.exitCode = 1
