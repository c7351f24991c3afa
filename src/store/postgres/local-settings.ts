/**
 * Settings that a handler has made for its transaction, and statements of ours in that transaction.
 *
 * A handler that runs alone may say `SET LOCAL ROLE tenant`, and then that role settles the event and writes the
 * messages, and may not; or a `statement_timeout` of its own ends our statement. So settings that matter to ours are
 * put back before the event is settled, and around what is written in the midst of the handler (`aside`).
 *
 * @module
 */

import type { Connection } from './connection.ts'
import type { State } from './sql/session-state.ts'

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
  takeRestore(): readonly string[] {
    if (!this.#mayDiffer) return []
    this.#mayDiffer = false
    return [restoreText(this.#before(), IDLE_LIMIT)]
  }

  /** Runs a statement of ours in the midst of the handler, whose settings are there again afterwards. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#mayDiffer) return work()
    const [changed] = await this.#connection.run(restoreText(this.#before()))
    const result = await work()
    const texts = (changed?.rows ?? []).map(
      ({ name, was }) => `pg_catalog.set_config(${hex(String(name))}, ${hex(String(was))}, true)`,
    )
    // The role comes first of those that are read, and last of those that are written.
    if (texts.length > 0) await this.#connection.run(`select ${texts.reverse().join(', ')}`)
    return result
  }
}

/** In this order: who may take on a role depends on the session's user, and the rest on the role. */
const PUT_BACK = [
  'session_authorization',
  'role',
  'search_path',
  'row_security',
  'session_replication_role',
  'client_encoding',
  'client_min_messages',
  'array_nulls',
] as const

/** The time limits of our own statements are not the database's to keep. */
const UNLIMITED = { statement_timeout: '0', lock_timeout: '0' } as const
/** What is left of the transaction is ours, and should we freeze, the database ends it. */
const IDLE_LIMIT = { idle_in_transaction_session_timeout: '30s' } as const

/**
 * Sets what differs and nothing else, since a role may not set all of it. Its rows are what it found. Values
 * are in hex, whatever `standard_conforming_strings` is.
 */
function restoreText(before: State, others: Readonly<Record<string, string>> = {}): string {
  const wanted = [
    ...PUT_BACK.map((name) => [name, before[name]] as const),
    ...Object.entries({ ...UNLIMITED, ...others }),
    // Not before PostgreSQL 17.
    ...(before.transaction_timeout === '' ? [] : [['transaction_timeout', '0'] as const]),
  ]
  const rows = wanted.map(([name, value]) => `('${name}', ${hex(value)})`)
  return `
  select s.name, pg_catalog.current_setting(s.name) as was, pg_catalog.set_config(s.name, s.value, true)
    from (values ${rows.join(', ')}) as s (name, value)
   where pg_catalog.current_setting(s.name) is distinct from s.value`
}

function hex(text: string): string {
  const bytes = Buffer.from(text).toString('hex')
  return `pg_catalog.convert_from(pg_catalog.decode('${bytes}', 'hex'), 'UTF8')`
}
