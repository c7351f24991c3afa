/**
 * A folder like that of a user: `hookonce` is in its `node_modules` as npm would put it there, built, beside the
 * packages that the user has installed with it, and nothing else.
 *
 * @module
 */

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { transformSync } from 'esbuild'
import { onTestFinished } from 'vitest'

const ROOT = path.join(import.meta.dirname, '../..')

/** What npm installs for a package that a user asks for. */
const INSTALLED_WITH: Readonly<Record<string, readonly string[]>> = {
  hookonce: [],
  libsql: ['libsql', '@libsql', '@neon-rs', 'detect-libc'],
}

export interface UserProject {
  readonly folder: string
  /** Writes a file, and the folders it is in. */
  write(file: string, text: string): void
}

/** For the length of the running test. `packages` are those of the user's `npm i`. */
export function createUserProject(
  files: Readonly<Record<string, string>> = {},
  packages: readonly string[] = ['hookonce', 'libsql'],
): UserProject {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-user-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  const write: UserProject['write'] = (file, text) => {
    const target = path.join(folder, file)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.writeFileSync(target, text)
  }
  write('package.json', '{"type":"module","private":true}\n')
  for (const [file, text] of Object.entries({ ...files, ...buildHookonce() })) write(file, text)
  for (const name of packages.flatMap(listInstalledWith)) {
    fs.symlinkSync(path.join(ROOT, 'node_modules', name), path.join(folder, 'node_modules', name))
  }
  return { folder, write }
}

function listInstalledWith(name: string): readonly string[] {
  const installed = INSTALLED_WITH[name]
  if (installed === undefined) throw new Error(`No test knows what npm installs for ${name}`)
  return installed
}

let built: Readonly<Record<string, string>> | undefined

/** Its files by their path: what `npm run build` makes of the sources, without the types, in a fraction of its time. */
function buildHookonce(): Readonly<Record<string, string>> {
  built ??= Object.fromEntries([
    [`${INSTALLED}/package.json`, fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')],
    ...listSources().map((file) => [
      `${INSTALLED}/dist/${file.replace(/\.ts$/, '.js')}`,
      transpile(file),
    ]),
  ]) as Record<string, string>
  return built
}

const INSTALLED = 'node_modules/hookonce'

function listSources(): readonly string[] {
  const files = fs.readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.ts'))
}

/** As the compiler does: types go, and an import of a source becomes one of what is built from it. */
function transpile(file: string): string {
  const text = fs.readFileSync(path.join(ROOT, 'src', file), 'utf8')
  const { code } = transformSync(text, { loader: 'ts', format: 'esm', target: 'es2023' })
  return code.replaceAll(/(\b(?:from|import) ?\(?"\.[^"\n]*)\.ts"/g, '$1.js"')
}
