/**
 * What a database says of how lasting its commits are, asked on a connection of its own: also of one that a store would
 * refuse to open.
 *
 * @module
 */

import path from 'node:path'
import pg from 'pg'
import { openDriver } from '../store/sqlite/open-driver.ts'

/** A setting that durability rests on, and what the database says. */
export interface StoreSetting {
  readonly name: string
  readonly value: string
}

/** @throws whatever the driver does where there is no connection */
export async function inspectStore(url: string, folder: string): Promise<readonly StoreSetting[]> {
  return url.startsWith('sqlite:')
    ? inspectSqlite(path.resolve(folder, url.slice('sqlite:'.length)))
    : inspectPostgres(url)
}

const POSTGRES_SETTINGS = ['server_version', 'fsync', 'full_page_writes', 'synchronous_commit']

async function inspectPostgres(url: string): Promise<readonly StoreSetting[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; setting: string }>(
      'select name, setting from pg_settings where name = any($1) order by name',
      [POSTGRES_SETTINGS],
    )
    return rows.map(({ name, setting }) => ({ name, value: setting }))
  } finally {
    await client.end()
  }
}

/** How far commits wait for the disk is the connection's own: the store sets it to full, whatever the file says. */
async function inspectSqlite(file: string): Promise<readonly StoreSetting[]> {
  const handle = (await openDriver('auto')).open(file)
  try {
    const [row] = handle.prepare('pragma journal_mode').all([])
    return [
      { name: 'journal_mode', value: String(row?.['journal_mode']) },
      { name: 'synchronous', value: 'full' },
    ]
  } finally {
    handle.close()
  }
}
