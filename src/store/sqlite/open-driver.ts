/**
 * Only SQLite: the driver for PostgreSQL comes with the user's pool.
 *
 * @module
 */

import { createRequire } from 'node:module'
import path from 'node:path'
import { HookonceError } from '../../errors.ts'
import type { SqliteDriver } from './driver.ts'
import { libsqlDriver } from './driver-libsql.ts'
import type { LibsqlModule } from './driver-libsql.ts'
import { nodeSqliteDriver } from './driver-node-sqlite.ts'
import type { NodeSqliteModule } from './driver-node-sqlite.ts'

/** Which binding to use; `auto` prefers the one built into Node. */
export type SqliteDriverName = 'auto' | SqliteDriver['name']

/**
 * Loads a binding when a store opens, never at import: most users of this package need none. `libsql` is looked for
 * beside this package, and then in the `node_modules` of the folder.
 */
export async function openDriver(
  name: SqliteDriverName,
  libsqlFolder?: string,
): Promise<SqliteDriver> {
  if (name !== 'libsql') {
    const loaded = await tryNodeSqlite()
    if (loaded.ok) return nodeSqliteDriver(loaded.module)
    if (name === 'node:sqlite') throw driverMissing(NO_NODE_SQLITE, loaded.error)
  }
  const loaded = await tryLibsql(libsqlFolder)
  if (loaded.ok) return libsqlDriver(loaded.module.default)
  throw driverMissing(NO_BINDING, loaded.error)
}

type Loaded<Module> =
  { readonly ok: true; readonly module: Module } | { readonly ok: false; readonly error: unknown }

// The names stand in the calls as they are, so that a bundler sees them: one that is in a variable it replaces by
// code that fails. Each call is in a `try`, by which a bundler knows that the module may be missing.

async function tryNodeSqlite(): Promise<Loaded<NodeSqliteModule>> {
  try {
    // @ts-expect-error -- The types of Node 20 do not have it.
    const module: unknown = await import('node:sqlite')
    return { ok: true, module: module as NodeSqliteModule }
  } catch (error) {
    return { ok: false, error }
  }
}

interface LibsqlImport {
  readonly default: LibsqlModule
}

async function tryLibsql(folder: string | undefined): Promise<Loaded<LibsqlImport>> {
  try {
    const module: unknown = await import('libsql')
    return { ok: true, module: module as LibsqlImport }
  } catch (error) {
    const installed = await tryInstalledLibsql(error)
    return installed.ok || folder === undefined ? installed : tryLibsqlOf(folder, error)
  }
}

/** `import()` looks beside the file that calls it; `require` can be made to look from any place. */
function tryLibsqlOf(folder: string, error: unknown): Loaded<LibsqlImport> {
  try {
    const load = createRequire(path.join(path.resolve(folder), 'package.json'))
    return { ok: true, module: { default: load('libsql') as LibsqlModule } }
  } catch {
    return { ok: false, error }
  }
}

/** What a bundler has taken into its file looks for its native half in vain. The one that is installed finds it. */
async function tryInstalledLibsql(error: unknown): Promise<Loaded<LibsqlImport>> {
  const name = 'libsql'
  try {
    const module: unknown = await import(/* webpackIgnore: true */ /* @vite-ignore */ name)
    return { ok: true, module: module as LibsqlImport }
  } catch {
    return { ok: false, error }
  }
}

const NO_NODE_SQLITE = 'This Node has no node:sqlite'
const NO_BINDING = 'There is no SQLite: libsql, which Node 20 needs for it, cannot be loaded'

function driverMissing(what: string, cause: unknown): HookonceError {
  return new HookonceError(
    'DRIVER_MISSING',
    `${what}. Run \`npm install libsql\`, or use Node 22.13 or later, which has its own`,
    { cause },
  )
}
