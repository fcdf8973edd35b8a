// Ways to end a process: the exit code is the program's own, and stderr stays empty of ours.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { runProgram } from './helpers.mjs'

const limit = { timeout: 60_000 }
const slow = "const module = await onnxtune.OnnxModule.load(generated('slow'))\n"
const identity = `const module = await onnxtune.OnnxModule.load(generated('identity'))
const { y } = await module.run(new Float32Array(4))\n`
const forever = '{ n: 10_000_000 }'
const running = `module.run(${forever})\nparentPort.postMessage('running')`

const WAYS = {
  'by itself after a run, the module not disposed': [identity, 0],
  'by itself after runSync': [`${identity}module.runSync(new Float32Array(4))`, 0],
  'by itself with two modules, one of them disposed': [
    `${identity}const other = await onnxtune.OnnxModule.load(generated('mlp_tiny'))\nawait other.dispose()`,
    0
  ],
  'by itself after a load that failed': ["await onnxtune.OnnxModule.load(generated('empty')).catch(() => {})", 0],
  'by itself after an aborted run': [
    `${slow}await module.run(${forever}, { signal: AbortSignal.timeout(50) }).catch(() => {})`,
    0
  ],
  'by itself after a tune': [
    "await onnxtune.tune(generated('mlp_tiny'), [new Float32Array(16)], { budgetMs: 200 })",
    0
  ],
  'by process.exit right after a run': [`${identity}process.exit(3)`, 3],
  'by process.exit with a run in flight': [`${slow}module.run(${forever})\nprocess.exit(3)`, 3],
  'by process.exit while a run is under way': [
    `${slow}module.run(${forever})\nsetTimeout(() => process.exit(3), 100)`,
    3
  ],
  'by process.exit with runs waiting': [
    `${slow}for (let index = 0; index < 20; index++) module.run(${forever})
      setTimeout(() => process.exit(3), 50)`,
    3
  ],
  'by process.exit while a model is loaded': [
    "onnxtune.OnnxModule.load(generated('resnet18'))\nsetTimeout(() => process.exit(3), 20)",
    3
  ],
  'by process.exit while disposing': [`${slow}module.run({ n: 500 })\nmodule.dispose()\nprocess.exit(3)`, 3],
  'by process.exit inside a tune': [
    `const onProgress = ({ phase }) => phase === 'measure' && process.exit(3)
      onnxtune.tune(generated('mlp_tiny'), [new Float32Array(16)], { budgetMs: 600_000, onProgress })`,
    3
  ],
  'by process.exit in the middle of a tune': [
    `onnxtune.tune(generated('mlp_tiny'), [new Float32Array(16)], { budgetMs: 600_000 })
      setTimeout(() => process.exit(3), 300)`,
    3
  ],
  'by process.exit inside the dataset': [
    `await onnxtune.tune(generated('mlp_tiny'), (function* () { process.exit(3) })())`,
    3
  ],
  'by process.exitCode': [`${identity}process.exitCode = 4`, 4],
  'on SIGTERM with a handler': [
    `${slow}process.on('SIGTERM', () => process.exit(5))
      module.run(${forever})
      setTimeout(() => process.kill(process.pid, 'SIGTERM'), 100)`,
    5
  ],
  'with a module collected': [
    `async function use() {
        const module = await onnxtune.OnnxModule.load(generated('mlp_tiny'))
        await module.run(new Float32Array(16))
      }
      for (let round = 0; round < 5; round++) {
        await use()
        gc()
        await new Promise((resolve) => setTimeout(resolve, 10))
      }`,
    0
  ],
  'with a module collected while it runs': [
    `${slow.replace('const module', 'let module')}const running = module.run({ n: 300 })
      module = undefined
      for (let round = 0; round < 10; round++) {
        gc()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      assert.ok(Math.abs((await running).y.data[0] - 1) < 1e-3)`,
    0
  ],
  'with workers that end by themselves': [worker('await module.run({ n: 100 })'), 0],
  'with a worker that is terminated in the middle of a run': [
    worker(running, "worker.on('message', () => worker.terminate())"),
    0
  ],
  'with a worker that is terminated in the middle of a tune': [
    worker(
      `onnxtune.tune(module, [{ n: 20 }], { budgetMs: 600_000 })\nparentPort.postMessage('tuning')`,
      "worker.on('message', () => setTimeout(() => worker.terminate(), 200))"
    ),
    0
  ],
  'with a worker that exits with a run in flight': [
    worker(`module.run(${forever})\nsetTimeout(() => process.exit(0), 50)`),
    0
  ],
  'by process.exit while a worker runs': [worker(running, "worker.on('message', () => process.exit(3))"), 3]
}

// A program whose worker loads the slow model and then does as told.
function worker(task, more = '') {
  const code = `const { parentPort, workerData } = require('node:worker_threads')
    import(workerData.entry).then(async (onnxtune) => {
      const module = await onnxtune.OnnxModule.load(workerData.path)
      ${task}
    })`
  return `import { Worker } from 'node:worker_threads'
    const workerData = { entry: ENTRY, path: generated('slow') }
    const worker = new Worker(${JSON.stringify(code)}, { eval: true, workerData, execArgv: [] })
    ${more}`
}

for (const [way, [program, code]] of Object.entries(WAYS)) {
  test(`a process ends ${way}, with code ${code} and nothing on stderr`, limit, async () => {
    const ended = await runProgram(program, { args: ['--expose-gc'] })
    assert.deepEqual(ended, { code, signal: null, timedOut: false, stdout: '', stderr: '' })
  })
}

const CRASHES = {
  'an uncaught throw': [
    `${slow}module.run(${forever})\nsetTimeout(() => { throw new Error('mine') }, 50)`,
    /error: mine/i
  ],
  'an unhandled rejection': [`${slow}module.run(${forever})\nPromise.reject(new Error('mine'))`, /error: mine/i],
  'an unhandled rejection of a run': [`${identity}module.run({ y: 1 })`, /input "x" is missing/]
}

for (const [way, [program, message]] of Object.entries(CRASHES)) {
  test(`a process ends with ${way}: code 1, the engine's own message, and nothing of ours`, limit, async () => {
    const { stderr, ...ended } = await runProgram(program)
    assert.deepEqual(ended, { code: 1, signal: null, timedOut: false, stdout: '' })
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /panicked|terminate called|Segmentation|onnxtune-\w+'/)
  })
}

test('an idle module neither keeps a process alive nor spins', limit, async () => {
  const program = `${identity}
    await module.run(new Float32Array(4))
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const { user, system } = process.cpuUsage(before)
    console.log((user + system) / 1000 < 500 ? 'idle' : 'busy: ' + (user + system) / 1000)`
  assert.deepEqual(await runProgram(program), { code: 0, signal: null, timedOut: false, stdout: 'idle\n', stderr: '' })
})
