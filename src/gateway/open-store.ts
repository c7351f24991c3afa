/**
 * The store that a config names.
 *
 * @module
 */

import { mkdirSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { HookonceError } from '../errors.ts'
import { DEV_FOLDER } from './dev-folder.ts'
import type { Store } from '../store/contract/store.ts'
import { postgresStore } from '../store/postgres/index.ts'
import { sqliteStore } from '../store/sqlite/index.ts'

/** A store, and what has to be closed after it. */
export interface OpenedStore {
  readonly store: Store<unknown, unknown>
  /** Where it is, without a password: for people. */
  readonly place: string
  /** Whether other machines can use it as well. */
  readonly isShared: boolean
  readonly close: () => Promise<void>
}

/** Four handlers at once need four, and the store six beside them. */
const POOL_MAX = 12

/**
 * Nothing is connected to before the inbox opens the store.
 *
 * @throws HookonceError CONFIG_INVALID for a text that names no store
 */
export function openStore(url: string, folder: string): OpenedStore {
  if (url.startsWith('sqlite:'))
    return openSqlite(path.resolve(folder, url.slice('sqlite:'.length)), folder)
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url)
  throw new HookonceError(
    'CONFIG_INVALID',
    'store must be sqlite:<file> or postgres://<user>:<password>@<host>/<database>',
  )
}

function openSqlite(file: string, folder: string): OpenedStore {
  mkdirSync(path.dirname(file), { recursive: true })
  return {
    store: sqliteStore(file, { libsqlFolder: path.join(folder, DEV_FOLDER) }),
    place: `sqlite:${file}`,
    isShared: false,
    close: async () => {},
  }
}

function openPostgres(url: string): OpenedStore {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_MAX,
    application_name: 'hookonce',
    connectionTimeoutMillis: 5_000,
  })
  // A connection that breaks while it is idle is told here; without a listener it would end the process.
  pool.on('error', () => undefined)
  return {
    store: postgresStore({ pool }),
    place: withoutPassword(url),
    isShared: true,
    close: () => pool.end(),
  }
}

/** For logs and screens. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return '(a store that is no URL)'
  const parsed = new URL(url)
  if (parsed.password !== '') parsed.password = '***'
  return `${parsed.protocol}//${parsed.username === '' ? '' : `${parsed.username}${parsed.password && ':***'}@`}${parsed.host}${parsed.pathname}`
}
