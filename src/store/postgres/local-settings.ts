/**
 * Settings that a handler has made for its transaction, and statements of ours in that transaction.
 *
 * A handler that runs alone may say `SET LOCAL ROLE tenant`, and then that role settles the event and writes the
 * messages, and may not; or a `statement_timeout` of its own ends our statement. So settings that matter to ours are
 * put back before the event is settled, and around what is written in the midst of the handler (`aside`).
 *
 * `transaction_read_only` cannot be put back, but ends with the savepoint it was set in.
 *
 * @module
 */

import type { Connection } from './connection.ts'
import type { PgResult } from './driver.ts'
import type { State } from './session-watch.ts'

export class LocalSettings {
  readonly #connection: Connection
  readonly #before: () => State
  #mayDiffer = false
  #mark: 'none' | 'wanted' | 'set' = 'none'

  constructor(connection: Connection, before: () => State) {
    this.#connection = connection
    this.#before = before
  }

  /** A statement is about to be sent that may change a setting. */
  note(isReadOnly: boolean): void {
    this.#mayDiffer = true
    if (isReadOnly && this.#mark === 'none') this.#mark = 'wanted'
  }

  get wantsMark(): boolean {
    return this.#mark === 'wanted'
  }

  /** Before it is sent. */
  async setMark(): Promise<void> {
    if (this.#mark !== 'wanted') return
    this.#mark = 'set'
    await this.#connection.run(`savepoint ${MARK}`)
  }

  /** The transaction went back to where the handler began. */
  rolledBack(): void {
    this.#mayDiffer = false
    this.#mark = 'none'
  }

  /** A savepoint around the handler was released, and ours inside it as well. */
  released(): void {
    this.#mark = 'none'
  }

  /** What puts the settings back for good, and is to be sent; nothing where none were made. */
  takeRestore(): readonly string[] {
    if (!this.#mayDiffer) return []
    const texts = [...this.#release(), restoreText(this.#before(), IDLE_LIMIT)]
    this.rolledBack()
    return texts
  }

  /** Runs a statement of ours in the midst of the handler, whose settings are there again afterwards. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#mayDiffer) return work()
    const hadMark = this.#mark === 'set'
    const results = await this.#connection.run(
      [READ_ONLY, ...this.#release(), restoreText(this.#before())].join('; '),
    )
    const result = await work()
    const isReadOnly = results[0]?.rows[0]?.['is_read_only'] === 'on'
    await this.#putBack(results.at(-1), { hadMark, isReadOnly })
    return result
  }

  async #putBack(
    changed: PgResult | undefined,
    { hadMark, isReadOnly }: { hadMark: boolean; isReadOnly: boolean },
  ): Promise<void> {
    const texts = (changed?.rows ?? []).map(
      ({ name, was }) => `pg_catalog.set_config(${hex(String(name))}, ${hex(String(was))}, true)`,
    )
    // The role comes first of those that are read, and last of those that are written.
    const settings = texts.length === 0 ? [] : [`select ${texts.reverse().join(', ')}`]
    const mark = hadMark ? [`savepoint ${MARK}`] : []
    const readOnly = hadMark && isReadOnly ? ['set local transaction_read_only = on'] : []
    const all = [...mark, ...settings, ...readOnly]
    if (hadMark) this.#mark = 'set'
    if (all.length > 0) await this.#connection.run(all.join('; '))
  }

  #release(): readonly string[] {
    if (this.#mark !== 'set') return []
    this.#mark = 'none'
    return [`release savepoint ${MARK}`]
  }
}

const MARK = '"hookonce_settings"'
const READ_ONLY = `select pg_catalog.current_setting('transaction_read_only') as is_read_only`

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
 * Sets what differs and nothing else, since not everybody may set all of it. Its rows are what it found. Values
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
