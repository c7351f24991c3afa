import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { listEntryPaths } from './compile-blocks.ts'
import type { Snippet } from './compile-blocks.ts'
import { ROOT } from './markdown.ts'

const ENTRIES = Object.entries(listEntryPaths(ROOT)).map(([name, [source = '']]) => [name, source])

/** Runs a snippet in a folder of its own, where `hookonce` is the source. */
export async function runSnippet(
  { code }: Pick<Snippet, 'code'>,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; stderr: string }> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-snippet-'))
  try {
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
    await bundle(`${code}\nexport {}\n`, path.join(folder, 'snippet.mjs'))
    const { stderr } = await promisify(execFile)(process.execPath, ['snippet.mjs'], {
      cwd: folder,
      timeout: 110_000,
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

/** The snippet and all of ours that it imports as one file: it loads faster than the sources one by one. */
async function bundle(code: string, outfile: string): Promise<void> {
  await build({
    stdin: { contents: code, loader: 'ts', resolveDir: ROOT, sourcefile: 'snippet.ts' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    alias: Object.fromEntries(ENTRIES) as Record<string, string>,
    logLevel: 'silent',
    outfile,
  })
}
