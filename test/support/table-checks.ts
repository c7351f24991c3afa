import { printMigrations as printPostgres } from '../../src/store/postgres/index.ts'
import { printMigrations as printSqlite } from '../../src/store/sqlite/index.ts'

/** What `check (column in (…))` allows in a table of a store, in its order. */
export function listAllowed(engine: string, table: string, column: string): readonly string[] {
  const sql = engine === 'postgres' ? printPostgres() : printSqlite()
  const body = new RegExp(`create table \\S*(?:\\.|hookonce_)${table} \\(\n([^;]*);`).exec(sql)?.[1]
  const check = new RegExp(`check \\(${column} in \\(([^)]*)\\)\\)`).exec(body ?? '')
  return [...(check?.[1] ?? '').matchAll(/'([^']*)'/g)].map(([, word = '']) => word)
}
