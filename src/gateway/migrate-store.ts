import { printMigrations as printPostgres } from '../store/postgres/index.ts'
import { printMigrations as printSqlite } from '../store/sqlite/index.ts'
import { openStore, WITHOUT_KEYS } from './open-store.ts'

/** Brings the tables of a store up to date, or makes them. Returns where it is. */
export async function migrateStore(url: string, folder: string): Promise<string> {
  const { store, place, close } = openStore(url, folder, {
    migrate: 'auto',
    encryption: WITHOUT_KEYS,
  })
  try {
    await store.open()
    return place
  } finally {
    await store.close()
    await close()
  }
}

/** The SQL that makes the tables, to migrate by hand. */
export function printSchema(url: string): string {
  return url.startsWith('sqlite:') ? printSqlite() : printPostgres()
}
