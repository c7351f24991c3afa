import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default?: string }>>
}

/** The package: two folders up, in the source and in what is built of it. */
const ROOT = new URL('../../', import.meta.url)

/**
 * The files behind `hookonce/config` and the other entries of this package, for a config in a folder in which it is not
 * installed: one that npx has fetched, or that is there for all of a machine.
 */
export function findOwnEntries(): Readonly<Record<string, string>> {
  const text = readFileSync(new URL('package.json', ROOT), 'utf8')
  const { exports } = JSON.parse(text) as Manifest
  const entries = Object.entries(exports).flatMap(([subpath, { default: target }]) =>
    target === undefined ? [] : [[`hookonce${subpath.slice(1)}`, findFile(target)]],
  )
  return Object.fromEntries(entries) as Record<string, string>
}

/** What was built, or in a clone of the repository its source. */
function findFile(target: string): string {
  const built = fileURLToPath(new URL(target, ROOT))
  if (existsSync(built)) return built
  const source = target.replace(/^\.\/dist\//, './src/').replace(/\.js$/, '.ts')
  return fileURLToPath(new URL(source, ROOT))
}
