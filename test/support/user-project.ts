/**
 * A folder like that of a user: `hookonce` is in its `node_modules` as npm would put it there, built and with its
 * optional dependency, and nothing else.
 *
 * @module
 */

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import ts from 'typescript'
import { onTestFinished } from 'vitest'

const ROOT = path.join(import.meta.dirname, '../..')

/** What libsql is made of: npm would install it along. */
const OPTIONAL = ['libsql', '@libsql', '@neon-rs', 'detect-libc']

export interface UserProject {
  readonly folder: string
  /** Writes a file, and the folders it is in. */
  write(file: string, text: string): void
}

/** For the length of the running test. */
export function createUserProject(files: Readonly<Record<string, string>> = {}): UserProject {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-user-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  const write: UserProject['write'] = (file, text) => {
    const target = path.join(folder, file)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.writeFileSync(target, text)
  }
  write('package.json', '{"type":"module","private":true}\n')
  for (const [file, text] of Object.entries({ ...files, ...buildHookonce() })) write(file, text)
  for (const name of OPTIONAL) {
    fs.symlinkSync(path.join(ROOT, 'node_modules', name), path.join(folder, 'node_modules', name))
  }
  return { folder, write }
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

function transpile(file: string): string {
  const text = fs.readFileSync(path.join(ROOT, 'src', file), 'utf8')
  const { outputText } = ts.transpileModule(text, {
    // Of a text alone the compiler cannot know that its package is one of modules.
    fileName: file.replace(/\.ts$/, '.mts'),
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  })
  return outputText
}
