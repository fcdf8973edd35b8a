// T18 (microsoft/onnxruntime#24579, huggingface/transformers.js#1403): a process crashes, hangs or writes to stderr as it ends.
//
// How long each end takes depends on the machine and is only told; a process that hangs is killed and fails its test.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { engine, runProgram, scratch } from '../helpers.mjs'

const limit = { timeout: 60_000 }
const folder = JSON.stringify(scratch())
const FOREVER = '{ n: 10_000_000 }'
const after = (milliseconds, work) => `setTimeout(() => { ${work} }, ${milliseconds})\n`
const load = (name) => `const module = await onnxtune.OnnxModule.load(generated('${name}'))\n`
const mlp = `${load('mlp_external')}const run = () => module.run(new Float32Array(1024))\nawait run()\n`
const slow = load('slow')
const tune = (budgetMs = 600_000) =>
  `onnxtune.tune(generated('mlp_tiny'), [new Float32Array(16)], { budgetMs: ${budgetMs} })`

// A program whose worker does as told with a loaded model.
const worker = (task, then) => `import { Worker } from 'node:worker_threads'
  const code = ${JSON.stringify(`const { parentPort, workerData } = require('node:worker_threads')
    import(workerData.entry).then(async (onnxtune) => {
      const { OnnxModule } = onnxtune
      ${task}
    })`)}
  const workerData = { entry: ENTRY, path: generated('slow'), large: generated('mlp_external') }
  const worker = new Worker(code, { eval: true, workerData, execArgv: [] })
  ${then}`
const RUNNING = `const module = await OnnxModule.load(workerData.path)
  module.run(${FOREVER})
  parentPort.postMessage('running')`

// The ten of the case, then their kind. Each: the program, its exit code or signal.
const WAYS = {
  'by itself': [mlp, 0],
  'by process.exit right after a run': [`${mlp}process.exit(11)`, 11],
  'by process.exit with a run in flight': [`${slow}${after(100, 'process.exit(12)')}await module.run(${FOREVER})`, 12],
  'on SIGTERM, with a handler': [
    `${slow}process.once('SIGTERM', () => process.exit(13))
    ${after(100, "process.kill(process.pid, 'SIGTERM')")}await module.run(${FOREVER})`,
    13
  ],
  'with a worker terminated in the middle of a run': [
    worker(
      RUNNING,
      `worker.once('message', async () => {
      await worker.terminate()
      const module = await onnxtune.OnnxModule.load(generated('mlp_tiny'))
      await module.run(new Float32Array(16))
      process.exitCode = 14
    })`
    ),
    14
  ],
  'with a module collected': [
    `let dropped
    const registry = new FinalizationRegistry(() => process.exit(15))
    await (async () => {
      ${mlp}registry.register(module)
    })()
    const timer = setInterval(() => gc(), 10)`,
    15
  ],
  'with two modules': [
    `${mlp}const other = await onnxtune.OnnxModule.load(generated('mlp_external'))
    await Promise.all([run(), other.run(new Float32Array(1024)), run()])
    process.exitCode = 16`,
    16
  ],
  'inside tune': [`${after(300, 'process.exit(17)')}await ${tune()}`, 17],
  'by process.exit inside a dataset, a callback or a getter': [
    `${slow}module.run(${FOREVER})
    const inputs = { get n() { process.exit(18) } }
    await module.run(inputs)`,
    18
  ],
  'by process.exit while a model of 33 MB is loaded, or its graph read': [
    `onnxtune.OnnxModule.load(generated('mlp_external'))
    onnxtune.readGraph(generated('mlp_external'))
    process.exit(19)`,
    19
  ],
  'by process.exit while a checkpoint is saved and loaded': [
    `const tuned = await ${tune(100)}
    const path = ${folder} + '/checkpoint'
    await tuned.save(path)
    tuned.save(path)
    onnxtune.TunedModule.load(path)
    setImmediate(() => process.exit(20))`,
    20
  ],
  'by process.exit inside a progress callback of inspect': [
    `${mlp}await onnxtune.inspect(module, [new Float32Array(1024)], { onProgress: () => process.exit(21) })`,
    21
  ],
  'by process.exit with 1000 runs in flight and some waiting to be told': [
    `${mlp}for (let index = 0; index < 1000; index++) run()
    const until = performance.now() + 50
    while (performance.now() < until);
    process.exit(22)`,
    22
  ],
  'with runs in an exit handler': [
    `${mlp}process.on('exit', () => {
      module.runSync(new Float32Array(1024))
      run()
      module.dispose()
      process.exitCode = 23
    })`,
    23
  ],
  'with a run, a load and a dispose never awaited': [
    `${slow}module.run({ n: 300 })
    onnxtune.OnnxModule.load(generated('mlp_tiny'))
    module.dispose()
    process.exitCode = 24`,
    24
  ],
  'on SIGTERM, without a handler': [
    `${slow}${after(100, "process.kill(process.pid, 'SIGTERM')")}await module.run(${FOREVER})`,
    'SIGTERM'
  ],
  'with a worker terminated while it loads': [
    worker(
      `parentPort.postMessage('loading')\nawait OnnxModule.load(workerData.large)`,
      `worker.once('message', async () => {
      await worker.terminate()
      process.exitCode = 25
    })`
    ),
    25
  ],
  'with a worker that throws during a run': [
    worker(
      `${RUNNING}\nsetTimeout(() => { throw new Error('mine') }, 50)`,
      `worker.on('error', ({ message }) => {
      process.exitCode = message === 'mine' ? 26 : 1
    })`
    ),
    26
  ],
  'with a worker that dies of its heap during a run': [
    worker(
      `${RUNNING}\nconst kept = []\nsetTimeout(() => { for (;;) kept.push(new Array(1000).fill(kept.length)) }, 50)`,
      `worker.on('error', ({ code }) => { process.exitCode = code === 'ERR_WORKER_OUT_OF_MEMORY' ? 27 : 1 })`
    ).replace('execArgv: []', 'execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 32 }'),
    27
  ]
}

// What other engines do differently, whatever runs in them.
const SKIPS = {
  'with a worker that throws during a run': engine === 'Deno' && 'Deno writes what a worker throws to stderr itself',
  'with a worker that dies of its heap during a run': engine !== 'Node' && `${engine} sets no limit to a worker's heap`
}

for (const [way, [program, expected]] of Object.entries(WAYS)) {
  const options = { ...limit, skip: SKIPS[way] ?? false }
  test(`a process that ends ${way} has another exit code, writes to stderr or hangs`, options, async (context) => {
    const start = performance.now()
    const ended = await runProgram(program, { args: ['--expose-gc'] })
    context.diagnostic(`${(performance.now() - start).toFixed(0)} ms`)
    const [code, signal] = typeof expected === 'string' ? [null, expected] : [expected, null]
    assert.deepEqual(ended, { code, signal, timedOut: false, stdout: '', stderr: '' })
  })
}

// Node's own message is on stderr here, and nothing else may be. For other engines exit.test.mjs has less strict tests.
const notNode = engine !== 'Node' && `the messages are those of Node, not of ${engine}`
const CRASHES = {
  'an uncaught throw': [
    `${slow}${after(100, "throw new Error('mine')")}await module.run(${FOREVER})`,
    /^Error: mine$/m
  ],
  'an unhandled rejection': [
    `${slow}module.run(${FOREVER})\n${after(100, "Promise.reject(new Error('mine'))")}`,
    /^Error: mine$/m
  ],
  'an unhandled rejection of an aborted run': [
    `${slow}module.run(${FOREVER}, { signal: AbortSignal.timeout(50) })\nmodule.run(${FOREVER})`,
    /AbortError: The operation was aborted/
  ]
}
for (const [way, [program, message]] of Object.entries(CRASHES)) {
  test(
    `a process that ends with ${way} has another exit code than 1, more on stderr than Node writes, or hangs`,
    { ...limit, skip: notNode },
    async (context) => {
      const start = performance.now()
      const { stderr, ...ended } = await runProgram(program)
      context.diagnostic(`${(performance.now() - start).toFixed(0)} ms`)
      assert.deepEqual(ended, { code: 1, signal: null, timedOut: false, stdout: '' })
      assert.match(stderr, message)
      assert.match(stderr, /Node\.js v\d+\.\d+\.\d+\n$/, 'Node has the last word')
      assert.doesNotMatch(stderr, /panicked|terminate called|Segmentation|\[[EWF]:onnxruntime/)
    }
  )
}
