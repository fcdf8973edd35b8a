// With one processor to itself, a process loads, runs and tunes like any other, and by default on one thread.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { runQuietly, scratch, sleep } from './helpers.mjs'

const folder = scratch()
const limit = { timeout: 60_000 }
const noLinux = process.platform !== 'linux' && 'processors are taken from a process so on Linux only'

const PROGRAM = `
  const { OnnxModule, TunedModule, tune } = onnxtune
  const inputs = Array.from({ length: 32 }, (_, seed) => Float32Array.from({ length: 16 }, (_, i) => Math.sin(seed + i)))
  const data = ({ y }) => [...y.data]
  const near = (one, other) => one.every((value, index) => Math.abs(value - other[index]) < 1e-6)

  const module = await OnnxModule.load(generated('mlp_tiny'))
  const alone = inputs.map((x) => data(module.runSync({ x })))
  const parallel = (await Promise.all(inputs.map((x) => module.run({ x })))).map(data)
  assert.deepEqual(parallel, alone)

  const many = await OnnxModule.load(generated('mlp_tiny'), { threads: 4, callers: 4 })
  assert.deepEqual((await Promise.all(inputs.map((x) => many.run({ x })))).map(data), alone)
  await many.dispose()

  const slow = await OnnxModule.load(generated('slow'))
  const running = slow.run({ n: 10_000_000 }, { signal: AbortSignal.timeout(50) })
  assert.equal(await running.catch(({ code }) => code), 'ABORT_ERR')
  await slow.dispose()

  const tuned = await tune(module, inputs, { budgetMs: 2000 })
  assert.ok(near(data(await tuned.run({ x: inputs[0] })), alone[0]))
  const path = process.env.ONNXTUNE_TEST_FOLDER + '/' + process.pid + '.onnxtune'
  await tuned.save(path)
  const loaded = await TunedModule.load(path)
  const again = await Promise.all(inputs.map((x) => loaded.run({ x })))
  assert.ok(again.every((outputs, index) => near(data(outputs), alone[index])))
  const { machine, workload } = tuned.report.toJSON()
  console.log(JSON.stringify({
    byDefault: [module.backend.settings.backend.threads, module.backend.settings.callers],
    machine: machine.threads,
    concurrency: workload.concurrency,
    wrong: tuned.report.candidates.filter(({ status }) => status === 'FAILED' || status === 'INACCURATE')
  }))
  await Promise.all([module, tuned, loaded].map((each) => each.dispose()))`

async function assertWorks(wrap) {
  const seen = await runQuietly(PROGRAM, { wrap, env: { ONNXTUNE_TEST_FOLDER: folder }, killAfterMs: 50_000 })
  assert.deepEqual(seen, { byDefault: [1, 1], machine: 1, concurrency: 1, wrong: [] })
}

const noTaskset = noLinux || (spawnSync('taskset', ['--version']).status !== 0 && 'there is no taskset')
test('bound to one processor, it works, and takes one thread', { ...limit, skip: noTaskset }, async () => {
  const allowed = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]
  await assertWorks(['taskset', '-c', allowed])
})

// Enters the control group that comes first, and then is the command that follows.
const JOIN = 'echo $$ > "$0"/cgroup.procs && exec "$@"'

// Makes a control group with the time of one processor; gives its folder, or why there is none.
function makeGroup() {
  if (noLinux) return { reason: noLinux }
  const groups = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
  const [first, second] = [/^\d+:((?:\w+,)*cpu(?:,\w+)*):(.*)/, /^0:():(.*)/].map((line) =>
    groups.map((group) => line.exec(group)).find(Boolean)
  )
  const [, controllers, parent] = first ?? second
  const group = join('/sys/fs/cgroup', controllers, parent, `onnxtune-test-${process.pid}`)
  try {
    mkdirSync(group)
    after(() => remove(group))
    writeFileSync(join(group, first ? 'cpu.cfs_quota_us' : 'cpu.max'), first ? '100000' : '100000 100000')
    execFileSync('sh', ['-c', JOIN, group, 'true'], { stdio: ['ignore', 'ignore', 'pipe'] })
    return { group }
  } catch (error) {
    return { reason: `no control group with a quota can be made and entered here: ${error.message}` }
  }
}

// A group is busy until its last process is gone for good.
async function remove(group) {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      return rmdirSync(group)
    } catch {
      await sleep(20)
    }
  }
}

const { group, reason = false } = makeGroup()
test('with the time of one processor, it works, and takes one thread', { ...limit, skip: reason }, async () => {
  await assertWorks(['sh', '-c', JOIN, group])
})
