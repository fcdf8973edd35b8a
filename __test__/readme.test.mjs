// The README's example is run as it stands.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { generated, root, scratch } from './helpers.mjs'

test('the example of the README runs', () => {
  const folder = scratch()
  const example = /```js\n(.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1]
  assert.ok(example, 'the README has an example')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'onnxtune'), 'dir')
  copyFileSync(generated('mlp_tiny'), join(folder, 'model.onnx'))
  writeFileSync(join(folder, 'example.mjs'), example)
  const { status, stdout, stderr } = spawnSync(process.execPath, ['example.mjs'], { cwd: folder, encoding: 'utf8' })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  assert.match(stdout, /the baseline/)
  assert.ok(existsSync(join(folder, 'model.ait')))
})
