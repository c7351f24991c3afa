import { mkdtempSync, mkdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const bundles = new Map<string, string>()

/**
 * A program of this folder and all of ours that it imports as one file, made once per test process.
 *
 * Measured: a child started through tsx takes 0.5 s of processor time to load, from such a file 0.1 s,
 * and the tests start hundreds. Packages stay outside, which is why it lies where they are found.
 */
export function bundleProgram(name: string): string {
  const known = bundles.get(name)
  if (known !== undefined) return known
  const outfile = join(bundleDir(), `${name}.mjs`)
  buildSync({
    entryPoints: [fileURLToPath(new URL(`./${name}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'error',
  })
  bundles.set(name, outfile)
  return outfile
}

let made: string | undefined

function bundleDir(): string {
  if (made !== undefined) return made
  const require = createRequire(import.meta.url)
  const modules = dirname(dirname(require.resolve('pg/package.json')))
  mkdirSync(join(modules, '.cache'), { recursive: true })
  const dir = mkdtempSync(join(modules, '.cache', 'hookonce-faults-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  made = dir
  return dir
}
