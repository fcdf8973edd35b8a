// ONNX Runtime's StringNormalizer asks the C library for the locale en_US.UTF-8 by name, which small systems lack. Their
// C.UTF-8 changes case alike, so it gets the other name too, in a folder of the cache that LOCPATH names.

import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../.cache/locale/', import.meta.url))

/** What the environment needs for the locale; empty where the system has no such locale to take. */
export function localeEnv() {
  const source = ['/usr/lib/locale/C.utf8', '/usr/lib/locale/C.UTF-8'].find((path) => existsSync(path))
  if (source === undefined) return {}
  const link = `${FOLDER}en_US.UTF-8`
  mkdirSync(FOLDER, { recursive: true })
  rmSync(link, { force: true })
  symlinkSync(source, link)
  return { LOCPATH: FOLDER }
}
