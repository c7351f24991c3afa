import { existsSync, readFileSync } from 'node:fs'
import type { DatabaseUnderTest } from '../../support/store-under-test.ts'

/** All that is stored, as it is read from a copy: what `pg_dump` writes, or the files of SQLite. */
export async function dump(database: DatabaseUnderTest): Promise<string> {
  if ('file' in database) {
    const files = ['', '-wal', '-shm'].map((end) => `${String(database.file)}${end}`)
    return files.map((file) => (existsSync(file) ? readFileSync(file, 'latin1') : '')).join('\n')
  }
  const tables = await database.query(
    `select c.oid::regclass::text as name
       from pg_class c
      where c.relkind in ('r', 'p', 'm') and c.relnamespace in ('hookonce'::regnamespace, 'public'::regnamespace)`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    // Bytes are hex in it, as in a dump.
    const rows = await database.query(`select t::text as row from ${String(name)} t`)
    texts.push(...rows.map(({ row }) => String(row)))
  }
  return texts.join('\n')
}

/** How often the word is in it: as it is, in hex, or in base64 wherever it begins. */
export function occurrences(dumped: string, word: string): number {
  const bytes = Buffer.from(word)
  const asBase64 = [0, 1, 2].map((skipped) =>
    Buffer.concat([Buffer.alloc(skipped), bytes])
      .toString('base64')
      .slice(4, -4),
  )
  const forms = [word, bytes.toString('hex'), ...asBase64]
  return forms.reduce((sum, form) => sum + dumped.split(form).length - 1, 0)
}
