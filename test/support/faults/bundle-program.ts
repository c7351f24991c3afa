import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const bundles = new Map<string, string>()

/**
 * A program of this folder and all of ours that it imports as one file, made once per test process.
 *
 * Measured: a child started through tsx takes 0.5 s of processor time to load, from such a file 0.16 s, and
 * with a source map in it 0.22 s; the tests start hundreds. Node alone takes 0.08 s. Packages stay outside, which is why it lies where they are found; its
 * name is its content's, so that runs beside and after each other share it and never mix.
 */
export function bundleProgram(name: string): string {
  return bundle(name, new URL(`./${name}.ts`, import.meta.url))
}

/** The command, `hookonce`, in the same way. To itself it is the file that it was made of. */
export function bundleCommand(): string {
  const source = new URL('../../../src/cli/main.ts', import.meta.url)
  return bundle('hookonce', source, { 'import.meta.url': JSON.stringify(source.href) })
}

function bundle(name: string, source: URL, define: Record<string, string> = {}): string {
  const known = bundles.get(name)
  if (known !== undefined) return known
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(source)],
    define,
    bundle: true,
    write: false,
    platform: 'node',
    // What this Node does not know yet, such as `await using`, is written in other words.
    target: 'node20.19',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error(`Nothing was made of ${name}`)
  const file = keep(name, output.contents)
  bundles.set(name, file)
  return file
}

function keep(name: string, contents: Uint8Array): string {
  const require = createRequire(import.meta.url)
  const modules = dirname(dirname(require.resolve('pg/package.json')))
  const dir = join(modules, '.cache', 'hookonce-faults')
  mkdirSync(dir, { recursive: true })
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 16)
  const file = join(dir, `${name}-${hash}.mjs`)
  if (existsSync(file)) return file
  // Under another name first: a process that sees the file sees all of it.
  const draft = join(dir, `${randomUUID()}.tmp`)
  writeFileSync(draft, contents)
  renameSync(draft, file)
  return file
}
