// docs/errors.md lists the codes that the source has: no less and no more. And errors are as it says.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect as show } from 'node:util'

import { AbortError, OnnxModule, OnnxTuneError } from '../index.js'
import { caught, generated, root } from './helpers.mjs'

const read = (...parts) => readFileSync(join(root, ...parts), 'utf8')
const inFolder = (folder, ending) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => read(folder, name))
const javascript = inFolder('lib', '.js')
const sources = [read('src', 'error.rs'), ...inFolder('src/binding', '.rs'), ...javascript]
const codesIn = (text) => [...text.matchAll(/(['"])(ERR_[A-Z0-9_]+|ABORT_ERR)\1/g)].map(([, , code]) => code)
const ROW = /^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$/gm
const rows = [...read('docs', 'errors.md').matchAll(ROW)].map((row) => row.slice(1))

test('docs/errors.md has each code once, and every code has a row', () => {
  const documented = rows.map(([code]) => code)
  assert.deepEqual(
    documented.filter((code, index) => documented.indexOf(code) !== index),
    [],
    'none twice'
  )
  assert.deepEqual(documented.sort(), [...new Set(sources.flatMap(codesIn))].sort())
})

test('every row says class, when and what to do', () => {
  assert.ok(rows.length > 50)
  for (const [code, classes, when, remedy] of rows) {
    for (const one of classes.split(', ')) assert.match(one, /^(TypeError|RangeError|OnnxTuneError|AbortError)$/, code)
    assert.ok(when.length > 8 && remedy.length > 8, code)
  }
})

test('the classes in docs/errors.md are those that the code throws', () => {
  const thrown = new Map()
  const add = (code, name) => thrown.set(code, (thrown.get(code) ?? new Set()).add(name))
  const makers = { typeError: 'TypeError', rangeError: 'RangeError', OnnxTuneError: 'OnnxTuneError' }
  for (const text of javascript) {
    // From a maker to the next code, without another maker between.
    const made = /\b(typeError|rangeError|OnnxTuneError)\((?:(?!Error\()[^])*?code: '(\w+)'/g
    for (const [, maker, code] of text.matchAll(made)) add(code, makers[maker])
  }
  assert.ok(thrown.size > 10)
  const documented = new Map(rows.map(([code, classes]) => [code, classes.split(', ')]))
  for (const [code, names] of thrown) {
    for (const name of names) assert.ok(documented.get(code).includes(name), `${code} is thrown as ${name}`)
  }
})

test('an OnnxTuneError is an Error with name, code and stack, and prints them', async () => {
  const error = await caught(OnnxModule.load(generated('unknown_op')))
  assert.ok(error instanceof OnnxTuneError && error instanceof Error)
  assert.deepEqual({ name: error.name, code: error.code }, { name: 'OnnxTuneError', code: 'ERR_OPERATOR_UNSUPPORTED' })
  assert.match(error.stack, /^OnnxTuneError: .*com\.foo::Bar/)
  assert.match(error.stack, /errors\.test\.mjs/, 'the stack leads to the caller')
  assert.match(show(error), /code: 'ERR_OPERATOR_UNSUPPORTED'/)
  assert.match(JSON.stringify(error), /ERR_OPERATOR_UNSUPPORTED/)
})

test("an AbortError is an Error with the name and code of Node's own", async () => {
  const reason = new Error('why')
  const error = await caught(OnnxModule.load(generated('identity'), { signal: AbortSignal.abort(reason) }))
  assert.ok(error instanceof AbortError && error instanceof Error && !(error instanceof OnnxTuneError))
  const { name, code, cause } = error
  assert.deepEqual({ name, code, cause }, { name: 'AbortError', code: 'ABORT_ERR', cause: reason })
})
