/**
 * The name that SQLite has for an error, such as `SQLITE_CONSTRAINT_UNIQUE`, whichever binding is below the store.
 *
 * Libraries tell errors apart by it. libsql gives it as `code`, the binding that is built into Node its number alone.
 *
 * @module
 */

/** `undefined` for what is no error of SQLite's. */
export function findSqliteCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  if (typeof errcode === 'number')
    return NAMES.get(errcode) ?? NAMES.get(errcode & 0xff) ?? 'SQLITE_ERROR'
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : undefined
}

/** Those that libraries look for. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [5, 'SQLITE_BUSY'],
  [19, 'SQLITE_CONSTRAINT'],
  [275, 'SQLITE_CONSTRAINT_CHECK'],
  [787, 'SQLITE_CONSTRAINT_FOREIGNKEY'],
  [1299, 'SQLITE_CONSTRAINT_NOTNULL'],
  [1555, 'SQLITE_CONSTRAINT_PRIMARYKEY'],
  [1811, 'SQLITE_CONSTRAINT_TRIGGER'],
  [2067, 'SQLITE_CONSTRAINT_UNIQUE'],
])
