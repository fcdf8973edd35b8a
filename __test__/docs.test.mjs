// Every JavaScript example of the documentation is run as it stands.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { generated, root, scratch } from './helpers.mjs'

const node = (name) => join(root, '.cache/python/onnx/backend/test/data/node', `test_${name}`, 'model.onnx')
// What the examples find in their folder.
const FILES = {
  'model.onnx': generated('mlp_tiny'),
  'large.onnx': generated('mlp_external'),
  'mlp_external.onnx.data': `${generated('mlp_external')}.data`,
  'slow.onnx': generated('slow'),
  'half.onnx': generated('identity_float16'),
  'int4.onnx': generated('cast_int4'),
  'classifier.onnx': generated('zipmap'),
  'append.onnx': node('sequence_insert_at_back'),
  'optional.onnx': node('optional_has_element_optional_input')
}
// What an example has to print, where its comments don't say.
const PRINTS = { 'README.md 1': /the baseline/ }
// What it leaves behind.
const LEAVES = { 'README.md 1': ['model.ait'] }

// A folder in which the package is installed, with the models.
function folderOf(example) {
  const folder = scratch()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'onnxtune'), 'dir')
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "dependencies": { "onnxtune": "*" } }\n')
  for (const [name, source] of Object.entries(FILES)) copyFileSync(source, join(folder, name))
  writeFileSync(join(folder, 'example.mjs'), example)
  return folder
}

async function run(folder) {
  const child = spawn(process.execPath, ['example.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (output[name] += text))
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000)
  const [status, signal] = await new Promise((resolve) => child.on('close', (...ended) => resolve(ended)))
  clearTimeout(timer)
  return { status, signal, ...output }
}

// Engines without `await using` are given what it stands for.
function withoutUsing(example) {
  const names = []
  const plain = example.replace(/^await using (\w+) =/gm, (_, name) => `const ${(names.push(name), name)} =`)
  return plain + names.map((name) => `await ${name}.dispose()\n`).join('')
}
function hasUsing() {
  try {
    new Function('return async () => { await using x = null }')
    return true
  } catch {
    return false
  }
}

const files = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
const examples = files
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^```js\n(.*?)^```/gms)].map(([, code], index) => [
      `${file} ${index + 1}`,
      hasUsing() ? code : withoutUsing(code)
    ])
  )

test('there are examples, and in README.md, too', () => {
  const names = examples.map(([name]) => name)
  assert.ok(names.includes('README.md 1') && names.includes('docs/running.md 10'), names.join(', '))
})

// In a comment behind a line that prints: words and numbers that have to be printed.
const printed = (example) =>
  example
    .split('\n')
    .filter((line) => line.includes('console.log') && line.includes(' // '))
    .flatMap((line) => line.slice(line.lastIndexOf(' // ')).match(/\b[A-Z]+_[A-Z_]+\b/g) ?? [])

for (const [name, example] of examples) {
  test(`${name} runs`, { timeout: 90_000 }, async () => {
    const folder = folderOf(example)
    const { stdout, ...ended } = await run(folder)
    assert.deepEqual(ended, { status: 0, signal: null, stderr: '' })
    if (PRINTS[name]) assert.match(stdout, PRINTS[name])
    for (const file of LEAVES[name] ?? []) assert.ok(existsSync(join(folder, file)), file)
    for (const code of printed(example)) assert.ok(stdout.includes(code), `${code} is printed`)
  })
}
