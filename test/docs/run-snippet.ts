import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { listEntryPaths } from './compile-blocks.ts'
import type { Snippet } from './compile-blocks.ts'
import { ROOT } from './markdown.ts'

/** Runs a snippet in a folder of its own, where `hookonce` is the source. */
export async function runSnippet(
  { code }: Pick<Snippet, 'code'>,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; stderr: string }> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-snippet-'))
  try {
    for (const name of ['src', 'node_modules']) {
      fs.symlinkSync(path.join(ROOT, name), path.join(folder, name))
    }
    const compilerOptions = { module: 'nodenext', target: 'es2023', paths: listEntryPaths('.') }
    fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
    fs.writeFileSync(path.join(folder, 'snippet.ts'), `${code}\nexport {}\n`)
    const tsx = path.join(ROOT, 'node_modules/.bin/tsx')
    const { stderr } = await promisify(execFile)(tsx, ['snippet.ts'], {
      cwd: folder,
      timeout: 50_000,
      env: { ...process.env, ...env },
    })
    return { code: 0, stderr }
  } catch (error) {
    const { code, stderr } = error as { code?: number | null; stderr?: string }
    return { code: code ?? -1, stderr: stderr ?? String(error) }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
