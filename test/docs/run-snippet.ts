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

interface SnippetRun {
  readonly code: number
  readonly stderr: string
}

/** Where a snippet finds what it imports, from the root of the repository. */
export interface SnippetHome {
  /** What paths such as `./prisma/client.ts` begin at. */
  readonly files: string
  readonly packages: string
}

const AT_ROOT: SnippetHome = { files: '.', packages: 'node_modules' }

/** Runs a snippet in a folder of its own, where `hookonce` is the source. */
export async function runSnippet(
  { code }: Pick<Snippet, 'code'>,
  env: Readonly<Record<string, string>> = {},
  home: SnippetHome = AT_ROOT,
): Promise<SnippetRun> {
  return runBundled(code, { name: 'snippet.mjs', args: ['snippet.mjs'], env, home })
}

/** Runs a snippet that is a file of tests, with vitest. */
export async function runVitestSnippet({ code }: Pick<Snippet, 'code'>): Promise<SnippetRun> {
  const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs')
  // Not what the vitest that runs this has in its environment.
  const env = { VITEST: '', VITEST_WORKER_ID: '', VITEST_POOL_ID: '', NODE_ENV: '' }
  const args = [vitest, 'run', '--config', 'none.config.mjs']
  return runBundled(code, { name: 'snippet.test.mjs', args, env, home: AT_ROOT })
}

async function runBundled(
  code: string,
  run: {
    readonly name: string
    readonly args: readonly string[]
    readonly env: Readonly<Record<string, string>>
    readonly home: SnippetHome
  },
): Promise<SnippetRun> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-snippet-'))
  try {
    fs.symlinkSync(path.join(ROOT, run.home.packages), path.join(folder, 'node_modules'))
    fs.writeFileSync(path.join(folder, 'none.config.mjs'), 'export default {}')
    await bundle(`${code}\nexport {}\n`, run.home, path.join(folder, run.name))
    const { stderr } = await promisify(execFile)(process.execPath, run.args, {
      cwd: folder,
      timeout: 110_000,
      env: { ...process.env, ...run.env },
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
async function bundle(code: string, { files }: SnippetHome, outfile: string): Promise<void> {
  await build({
    stdin: {
      contents: code,
      loader: 'ts',
      resolveDir: path.join(ROOT, files),
      sourcefile: 'snippet.ts',
    },
    // Entities of TypeORM have them.
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
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
