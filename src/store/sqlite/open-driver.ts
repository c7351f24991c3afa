import { HookonceError } from '../../errors.ts'
import type { SqliteDriver } from './driver.ts'
import { libsqlDriver } from './driver-libsql.ts'
import type { LibsqlModule } from './driver-libsql.ts'
import { nodeSqliteDriver } from './driver-node-sqlite.ts'
import type { NodeSqliteModule } from './driver-node-sqlite.ts'

/** Which binding to use; `auto` prefers the one built into Node. */
export type SqliteDriverName = 'auto' | SqliteDriver['name']

/** Loads a binding when a store opens, never at import: most users of this package need none. */
export async function openDriver(name: SqliteDriverName): Promise<SqliteDriver> {
  if (name !== 'libsql') {
    const loaded = await tryImport<NodeSqliteModule>('node:sqlite')
    if (loaded.ok) return nodeSqliteDriver(loaded.module)
    if (name === 'node:sqlite') throw driverMissing('This Node has no node:sqlite', loaded.error)
  }
  const loaded = await tryImport<{ default: LibsqlModule }>('libsql')
  if (loaded.ok) return libsqlDriver(loaded.module.default)
  throw driverMissing('No SQLite binding could be loaded', loaded.error)
}

function driverMissing(what: string, cause: unknown): HookonceError {
  return new HookonceError(
    'DRIVER_MISSING',
    `${what}. Use Node 22.13 or later, or run: npm i libsql`,
    { cause },
  )
}

/** The name is a variable, so that neither a compiler nor a bundler demands a module that may be absent. */
async function tryImport<Module>(
  specifier: string,
): Promise<{ ok: true; module: Module } | { ok: false; error: unknown }> {
  try {
    return { ok: true, module: (await import(specifier)) as Module }
  } catch (error) {
    return { ok: false, error }
  }
}
