// Packs what is published into .cache/pack: the main package, and one package for each platform in npm/ with the addon
// and the ONNX Runtime library. `npm run build` comes first: this only collects. No package has an install script.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = join(root, '.cache', 'pack')
const budget = { packed: 12e6, unpacked: 33e6 } // bytes, all packages that one user installs together
const windows = process.platform === 'win32'
const python = process.env.PYTHON ?? (windows ? 'python' : 'python3')

function fail(message) {
  console.error(`pack: ${message}`)
  process.exit(1)
}

function capture(command, args, cwd = root) {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', shell: windows, stdio: ['ignore', 'pipe', 'inherit'] })
  } catch (error) {
    fail(`${command} ${args[0]} failed: ${error.message}`)
  }
}

// What npm would pack (or packs) from a folder: { filename, size, unpackedSize, files: [{ path }] }
function npmPack(folder, ...options) {
  return Object.values(JSON.parse(capture('npm', ['pack', '--json', '--ignore-scripts', ...options], folder)))[0]
}

const readManifest = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

function copy(from, to, hint = '') {
  if (!existsSync(from)) fail(`${from} is missing${hint}`)
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { dereference: true })
}

// Writes the manifest, packs the folder and makes sure that nothing put into it was left out by `files`.
function finish(folder, manifest) {
  if (manifest.scripts) fail(`${manifest.name} has scripts`)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const packed = npmPack(folder, '--pack-destination', '..')
  const paths = new Set(packed.files.map((file) => file.path))
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name)
      .slice(folder.length + 1)
      .replaceAll('\\', '/')
    if (entry.isFile() && !paths.has(path)) fail(`the \`files\` of ${manifest.name} leave out ${path}`)
  }
  return packed
}

// The main package: what the root's `files` say, its manifest without what only a checkout needs.
function packMain(platforms) {
  const folder = join(out, 'main')
  const { scripts, devDependencies, ...manifest } = readManifest(root)
  for (const { path } of npmPack(root, '--dry-run').files) {
    if (path.endsWith('.node')) fail(`${path} belongs in a platform package, not in the main one`)
    copy(join(root, path), join(folder, path))
  }
  for (const path of ['LICENSE', manifest.main, manifest.types]) {
    if (path && !existsSync(join(folder, path))) fail(`the main package lacks ${path}`)
  }
  const versions = platforms.map((platform) => [`${manifest.name}-${platform}`, manifest.version])
  return finish(folder, { ...manifest, optionalDependencies: Object.fromEntries(versions) })
}

// A platform package; its version is the main package's.
function packPlatform(platform, version) {
  const source = join(root, 'npm', platform)
  const folder = join(out, platform)
  const { name, ...manifest } = readManifest(source)
  const runtime = capture(python, ['scripts/fetch.py', 'runtime', platform]).trim()
  const library = manifest.files.find((file) => /\.(so|dylib|dll)$/.test(file))
  if (!library) fail(`the \`files\` of ${name} name no ONNX Runtime library`)
  copy(join(source, 'README.md'), join(folder, 'README.md'))
  copy(join(root, manifest.main), join(folder, manifest.main), ': build it first (npm run build)')
  copy(join(runtime, library), join(folder, library))
  copy(join(runtime, 'LICENSE'), join(folder, 'onnxruntime-LICENSE'))
  copy(join(runtime, 'ThirdPartyNotices.txt'), join(folder, 'onnxruntime-ThirdPartyNotices.txt'))
  for (const file of ['LICENSE', 'THIRD-PARTY-NOTICES.md']) copy(join(root, file), join(folder, file))
  return finish(folder, { name, version, ...manifest })
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const platforms = readdirSync(join(root, 'npm'))
const main = packMain(platforms)
const natives = platforms.map((platform) => packPlatform(platform, main.version))

// In the debug profile, whose crates the tests have built already; the compressor itself is C and optimised all the same.
const tarballs = [main, ...natives].map((packed) => join(out, packed.filename))
capture('cargo', ['run', '--quiet', '--locked', '--no-default-features', '--example', 'recompress', ...tarballs])
for (const packed of [main, ...natives]) packed.size = statSync(join(out, packed.filename)).size

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`
const print = (name, { size, unpackedSize }) =>
  console.log(`${name.padEnd(36)} ${megabytes(size)} packed, ${megabytes(unpackedSize)} unpacked`)
for (const packed of [main, ...natives]) print(packed.filename, packed)

// A user's install is the main package and one platform's.
for (const native of natives) {
  const total = { size: main.size + native.size, unpackedSize: main.unpackedSize + native.unpackedSize }
  print(`together (${native.name.slice(main.name.length + 1)})`, total)
  if (total.size > budget.packed || total.unpackedSize > budget.unpacked)
    fail(`over budget: ${megabytes(budget.packed)} packed, ${megabytes(budget.unpacked)} unpacked`)
}
