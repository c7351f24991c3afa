/**
 * Settings that a handler has made for its transaction, and statements of ours in that transaction.
 *
 * A handler that runs alone may say `SET LOCAL ROLE tenant`, and then that role settles the event and writes the
 * messages, and may not; or a `statement_timeout` of its own ends our statement. So settings that matter to ours are
 * put back before the event is settled, and around what is written in the midst of the handler (`aside`).
 *
 * Only PostgreSQL: SQLite has no settings that end with a transaction.
 *
 * @module
 */

import { textArray } from './binary-array.ts'
import type { Connection } from './connection.ts'
import { SETTINGS_OF_OURS } from './sql/session-state.ts'
import type { State } from './sql/session-state.ts'
import type { Statement } from './statement-batch.ts'

export class LocalSettings {
  readonly #connection: Connection
  readonly #before: () => State
  #mayDiffer = false

  constructor(connection: Connection, before: () => State) {
    this.#connection = connection
    this.#before = before
  }

  /** A statement is about to be sent that may change a setting. */
  note(): void {
    this.#mayDiffer = true
  }

  /** The transaction went back to where the handler began. */
  rolledBack(): void {
    this.#mayDiffer = false
  }

  /** What puts the settings back for good, and is to be sent; nothing where none were made. */
  takeRestore(): readonly Statement[] {
    if (!this.#mayDiffer) return []
    this.#mayDiffer = false
    return restore(this.#before(), IDLE_LIMIT)
  }

  /** Runs a statement of ours in the midst of the handler, whose settings are there again afterwards. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#mayDiffer) return work()
    const found = await this.#connection.runTogether(restore(this.#before()))
    const result = await work()
    // The role comes first of those that are read, and last of those that are written.
    const changed = found.flatMap(({ rows }) => rows).reverse()
    const names = changed.map((row) => row['name'] ?? '')
    const values = changed.map((row) => row['was'] ?? '')
    if (names.length > 0) await this.#connection.query(SET, [textArray(names), textArray(values)])
    return result
  }
}

/** The time limits of our own statements are not the database's to keep. */
const UNLIMITED = { statement_timeout: '0', lock_timeout: '0' } as const
/** What is left of the transaction is ours, and should we freeze, the database ends it. */
const IDLE_LIMIT = { idle_in_transaction_session_timeout: '30s' } as const

// $1 names  $2 values
//
// What differs and nothing else, since a role may not set all of it. Its rows are what it found.
const RESTORE = `
  select s.name, pg_catalog.current_setting(s.name) as was, pg_catalog.set_config(s.name, s.value, true)
    from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) as s (name, value)
   where pg_catalog.current_setting(s.name) is distinct from s.value`

// $1 names  $2 values
const SET = `
  select pg_catalog.set_config(s.name, s.value, true)
    from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) as s (name, value)`

/** The encoding by itself and first: the values of the rest are read in it. */
function restore(before: State, limits: Readonly<Record<string, string>> = {}): Statement[] {
  const settings = SETTINGS_OF_OURS.map((name) => [name, before[name]] as const)
  // Not before PostgreSQL 17.
  const own = before.transaction_timeout === '' ? {} : { transaction_timeout: '0' }
  const encoding = [['client_encoding', before.client_encoding]] as const
  return [encoding, [...settings, ...Object.entries({ ...UNLIMITED, ...limits, ...own })]].map(
    (wanted) => ({
      text: RESTORE,
      values: [0, 1].map((column) => textArray(wanted.map((each) => each[column] ?? ''))),
    }),
  )
}
