/**
 * The store that a config names.
 *
 * @module
 */

import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { HookonceError, StoreUnavailableError } from '../errors.ts'
import { codeOf, DEV_FOLDER } from './dev-folder.ts'
import type { Store } from '../store/contract/store.ts'
import { postgresStore } from '../store/postgres/index.ts'
import type { EncryptionOptions } from '../store/sqlite/index.ts'
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
   * `check` for a command that looks at what is there: nothing is made or brought up to date.
   *
   * @defaultValue 'auto'
   */
  readonly migrate?: 'auto' | 'check'
  /**
   * How many groups of events run at once, each on a connection of its own.
   *
   * @defaultValue 4
   */
  readonly concurrency?: number
  /** How many more are kept free. Left out, a quarter of `concurrency`, as in the library. */
  readonly reserved?: number
  /** The keys of the config; left out, none. */
  readonly encryption?: EncryptionOptions | undefined
}

/** For a person who names a store and has none of its keys: what is encrypted says so, and the rest can be seen. */
export const WITHOUT_KEYS: EncryptionOptions = { keys: [], writes: 'clear' }

/** What the store needs beside the connections of groups: to receive, to relay, to listen, for its own records. */
const CONNECTIONS_BESIDE = 8

/**
 * Nothing is connected to before the inbox opens the store.
 *
 * @throws HookonceError CONFIG_INVALID for a text that names no store
 * @throws StoreUnavailableError for a file that is not there, where none shall be made
 */
export function openStore(url: string, folder: string, terms: OpenTerms = {}): OpenedStore {
  if (url.startsWith('sqlite:'))
    return openSqlite(path.resolve(folder, url.slice('sqlite:'.length)), folder, terms)
  if (isStoreUrl(url)) return openPostgres(url, terms)
  throw new HookonceError('CONFIG_INVALID', `store ${STORE_FORM}`)
}

/** What a store must look like. */
export const STORE_FORM = 'must be sqlite:<file> or postgres://<user>:<password>@<host>/<database>'

/** Whether a text names a store. */
export function isStoreUrl(text: string): boolean {
  return /^(sqlite:|postgres(ql)?:\/\/)/.test(text)
}

function openSqlite(
  file: string,
  folder: string,
  { migrate = 'auto', encryption }: OpenTerms,
): OpenedStore {
  if (migrate === 'auto') makeFolder(path.dirname(file))
  else if (!existsSync(file))
    throw new StoreUnavailableError(
      `There is no database at ${file}. --store names another one; hookonce migrate makes this one.`,
    )
  return {
    store: sqliteStore(file, {
      migrate,
      libsqlFolder: path.join(folder, DEV_FOLDER),
      ...(encryption && { encryption }),
    }),
    place: `sqlite:${file}`,
    isShared: false,
    close: async () => {},
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `store: the folder ${folder} cannot be made: ${codeOf(error)}. Name a file in a folder that this process may write to, or postgres://…`,
      { cause: error },
    )
  }
}

function openPostgres(
  url: string,
  { migrate = 'auto', concurrency = 4, reserved, encryption }: OpenTerms,
): OpenedStore {
  const pool = new pg.Pool({
    connectionString: url,
    max: concurrency + (reserved ?? Math.floor(concurrency / 4)) + CONNECTIONS_BESIDE,
    application_name: 'hookonce',
    connectionTimeoutMillis: 5_000,
  })
  // A connection that breaks while it is idle is told here; without a listener it would end the process.
  pool.on('error', () => undefined)
  return {
    store: postgresStore({ pool, migrate, ...(encryption && { encryption }) }),
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
