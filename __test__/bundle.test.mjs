// A program that is bundled keeps the package outside, since a native addon goes into no bundle.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { build, stop } from 'esbuild'

import { OnnxModule } from '../index.js'
import { generated, root, scratch } from './helpers.mjs'

const limit = { timeout: 60_000 }
const app = scratch()
mkdirSync(join(app, 'node_modules'))
symlinkSync(root, join(app, 'node_modules', 'onnxtune'), 'dir')
writeFileSync(join(app, 'package.json'), '{ "private": true, "dependencies": { "onnxtune": "*" } }\n')
writeFileSync(
  join(app, 'model.ts'),
  `import { OnnxModule, Tensor, type Outputs } from 'onnxtune'
  export async function run(path: string, values: readonly number[]): Promise<Outputs> {
    const module = await OnnxModule.load(path)
    try {
      return await module.run({ x: new Tensor(Float32Array.from(values), [1, values.length]) })
    } finally {
      await module.dispose()
    }
  }\n`
)
writeFileSync(
  join(app, 'main.ts'),
  `import * as onnxtune from 'onnxtune'
  import { run } from './model.js'
  const values = Array.from({ length: 16 }, (_, index) => index / 16)
  async function main(): Promise<void> {
    const { y } = await run(process.argv[2], values)
    const fault = await onnxtune.OnnxModule.load('missing.onnx').catch((error: unknown) => error)
    const known = fault instanceof onnxtune.OnnxTuneError && fault.code
    console.log(JSON.stringify({ data: [...y.data], dims: y.dims, tensor: y instanceof onnxtune.Tensor, known }))
  }
  void main()\n`
)
after(() => stop())

const EXTERNAL = {
  'external: onnxtune': { external: ['onnxtune'] },
  'packages: external': { packages: 'external' },
  'minified, external: onnxtune': { external: ['onnxtune'], minify: true }
}

for (const [format, extension] of Object.entries({ esm: 'mjs', cjs: 'cjs' })) {
  for (const [what, options] of Object.entries(EXTERNAL)) {
    test(`a bundle as ${format} (${what}) runs`, limit, async () => {
      const outfile = join(app, 'dist', `${what.replace(/\W+/g, '-')}.${extension}`)
      const { warnings } = await build({
        absWorkingDir: app,
        entryPoints: ['main.ts'],
        outfile,
        bundle: true,
        platform: 'node',
        target: 'node20',
        format,
        logLevel: 'silent',
        ...options
      })
      assert.deepEqual(warnings, [])
      const code = readFileSync(outfile, 'utf8')
      assert.match(code, format === 'esm' ? /from\s*"onnxtune"/ : /require\("onnxtune"\)/)
      assert.doesNotMatch(code, /\.node"/, 'nothing of the package is inside')

      const args = [outfile, generated('mlp_tiny')]
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: app, encoding: 'utf8' })
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
      assert.deepEqual(JSON.parse(stdout), { ...(await expected()), tensor: true, known: 'ERR_MODEL_NOT_FOUND' })
    })
  }
}

async function expected() {
  const module = await OnnxModule.load(generated('mlp_tiny'))
  const { y } = await module.run({ x: Float32Array.from({ length: 16 }, (_, index) => index / 16) })
  await module.dispose()
  return { data: [...y.data], dims: [...y.dims] }
}
