// Writes THIRD-PARTY-NOTICES.md: the crates linked into the addon with their licences, from what `cargo metadata` says
// and the licence files in each crate's own folder. `--check` only says whether the file is up to date.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = join(root, 'THIRD-PARTY-NOTICES.md')
const licenceFile = /^(licen[cs]e|copying|copyright|notice|unlicense)/i

function fail(message) {
  console.error(`notices: ${message}`)
  process.exit(1)
}

function cargoMetadata() {
  // One platform, and --locked, so that the result depends on Cargo.lock alone.
  const args = ['metadata', '--format-version=1', '--locked', '--filter-platform=x86_64-unknown-linux-gnu']
  try {
    return JSON.parse(execFileSync('cargo', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 }))
  } catch (error) {
    fail(`cargo metadata failed: ${error.message.split('\n')[0]}`)
  }
}

// Follows the normal dependencies from the root crate. Build scripts' and test dependencies, and procedural macros with
// all that they use, run in the compiler and are no part of the addon.
function linkedCrates({ packages, resolve }) {
  const byId = new Map(packages.map((crate) => [crate.id, crate]))
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]))
  const found = new Set([resolve.root])
  for (const id of found) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      const isMacro = byId.get(pkg).targets.some(({ kind }) => kind.includes('proc-macro'))
      if (!isMacro && kinds.some(({ kind }) => kind === null)) found.add(pkg)
    }
  }
  found.delete(resolve.root)
  return [...found]
    .map((id) => byId.get(id))
    .sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1) || (a.version < b.version ? -1 : 1))
}

// MIT for crates whose package holds no licence file, with the authors that their manifest names.
const mit = (authors) => `MIT License

Copyright (c) ${authors.join(', ')}

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`

// The texts in a crate's folder, line ends and trailing blanks aside; MIT alone where a crate offers it among others.
function licenceTexts({ name, license, license_file: named, manifest_path: manifest, authors }) {
  const folder = dirname(manifest)
  let files = readdirSync(folder).filter((file) => licenceFile.test(file))
  if (named && !files.includes(basename(named))) files.push(named)
  const mitFiles = files.filter((file) => /licen[cs]e-mit/i.test(file))
  if (mitFiles.length > 0 && !/\bAND\b/.test(license)) files = mitFiles
  if (files.length === 0 && license === 'MIT' && authors.length > 0)
    return [mit(authors.map((author) => author.replace(/ <.*/, '')))]
  if (files.length === 0) fail(`${name} (${license}) brings no licence text: add it to scripts/notices.mjs`)
  return files.sort().map((file) =>
    readFileSync(join(folder, file), 'utf8')
      .replace(/[^\S\n]+$/gm, '')
      .trim()
  )
}

// The crates, each with the numbers of its texts, and each different text once. Texts count as the same when their
// words are: many differ only in how their lines are broken.
function render(crates) {
  const texts = new Map()
  const rows = crates.map((crate) => {
    const numbers = licenceTexts(crate).map((text) => {
      const key = text.replace(/\s+/g, ' ')
      if (!texts.has(key)) texts.set(key, { number: texts.size + 1, text, users: new Set() })
      texts.get(key).users.add(crate.name)
      return texts.get(key).number
    })
    const links = numbers.map((number) => `[${number}](#text-${number})`)
    return `| ${crate.name} ${crate.version} | ${crate.license} | ${links.join(', ')} |`
  })
  const fence = '```'
  const sections = [...texts.values()].map(
    ({ number, text, users }) => `## Text ${number}\n\n${[...users].join(', ')}\n\n${fence}text\n${text}\n${fence}`
  )
  return `# Third-party notices

Written by \`scripts/notices.mjs\`; do not edit.

The native addon of onnxtune contains these Rust crates, as well as the Rust standard library (MIT OR Apache-2.0, by the
Rust project contributors). Those that offer the MIT licence among others are used under it. The ONNX Runtime library
beside the addon has notices of its own.

| crate | licence | texts |
| --- | --- | --- |
${rows.join('\n')}

${sections.join('\n\n')}
`
}

const notices = render(linkedCrates(cargoMetadata()))
if (process.argv.includes('--check')) {
  if (!existsSync(target) || readFileSync(target, 'utf8') !== notices)
    fail('THIRD-PARTY-NOTICES.md is out of date: run node scripts/notices.mjs')
} else {
  writeFileSync(target, notices)
}
