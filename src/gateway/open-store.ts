/**
 * The store that a config names.
 *
 * @module
 */

import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { HookonceError, StoreUnavailableError } from '../errors.ts'
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

/** How a store is opened. */
export interface OpenTerms {
  /**
   * `check` for those who look at what is there: nothing is made or brought up to date.
   *
   * @defaultValue 'auto'
   */
  readonly migrate?: 'auto' | 'check'
}

/** Four handlers at once need four, and the store six beside them. */
const POOL_MAX = 12

/**
 * Nothing is connected to before the inbox opens the store.
 *
 * @throws HookonceError CONFIG_INVALID for a text that names no store
 * @throws StoreUnavailableError for a file that is not there, where none shall be made
 */
export function openStore(url: string, folder: string, terms: OpenTerms = {}): OpenedStore {
  if (url.startsWith('sqlite:'))
    return openSqlite(path.resolve(folder, url.slice('sqlite:'.length)), folder, terms)
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, terms)
  throw new HookonceError(
    'CONFIG_INVALID',
    'store must be sqlite:<file> or postgres://<user>:<password>@<host>/<database>',
  )
}

function openSqlite(file: string, folder: string, { migrate = 'auto' }: OpenTerms): OpenedStore {
  if (migrate === 'auto') mkdirSync(path.dirname(file), { recursive: true })
  else if (!existsSync(file))
    throw new StoreUnavailableError(
      `There is no database at ${file}. --store names another one; hookonce migrate makes this one.`,
    )
  return {
    store: sqliteStore(file, { migrate, libsqlFolder: path.join(folder, DEV_FOLDER) }),
    place: `sqlite:${file}`,
    isShared: false,
    close: async () => {},
  }
}

function openPostgres(url: string, { migrate = 'auto' }: OpenTerms): OpenedStore {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_MAX,
    application_name: 'hookonce',
    connectionTimeoutMillis: 5_000,
  })
  // A connection that breaks while it is idle is told here; without a listener it would end the process.
  pool.on('error', () => undefined)
  return {
    store: postgresStore({ pool, migrate }),
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
