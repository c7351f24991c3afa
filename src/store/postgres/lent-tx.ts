/**
 * The transaction as a handler gets it.
 *
 * It refuses what would end or change the transaction, runs one statement at a time, knows which
 * statements the handler did not wait for, and is worth nothing once the handler has returned. This
 * is the first of several guards: `settle` proves that the transaction is still the one that claimed
 * the events, and a deferred trigger makes every COMMIT but ours fail (`sql/claim-group.ts`).
 *
 * @module
 */

import { HookonceError, OptionInvalidError, SettingRefusedError } from '../../errors.ts'
import type { LentTx } from '../contract.ts'
import { findTransactionControl } from '../transaction-control.ts'
import type { Connection } from './connection.ts'
import type { PgResult, PostgresTx, PostgresTxQuery } from './driver.ts'
import { listSettingChanges } from './setting-change.ts'

const REFUSED: ReadonlySet<string> = new Set([
  'ABORT',
  'BEGIN',
  'COMMIT',
  'DISCARD',
  'END',
  'LISTEN',
  'PREPARE',
  'RELEASE',
  'ROLLBACK',
  'SAVEPOINT',
  'START',
  'UNLISTEN',
])

export class LentPostgresTx implements LentTx<PostgresTx> {
  readonly tx: PostgresTx = Object.freeze({
    query: (config: unknown, values?: unknown) => this.#query(config, values),
  }) as PostgresTx
  readonly #connection: Connection
  readonly #isAlone: boolean
  #isRevoked = false
  #mayStart = true
  #last: Promise<unknown> = Promise.resolve()

  constructor(connection: Connection, { isAlone }: { isAlone: boolean }) {
    this.#connection = connection
    this.#isAlone = isAlone
  }

  async revoke(): Promise<void> {
    this.#isRevoked = true
    await this.#last
    await this.#connection.untilAnswered()
  }

  revokeNow(): void {
    this.#isRevoked = true
    this.#mayStart = false
  }

  #query(config: unknown, values: unknown): Promise<PgResult> {
    const answer = this.#start(config, values)
    // One that nobody waits for must not end the process when it fails; the transaction's status tells of it.
    const ended = answer.catch(() => undefined)
    this.#last = Promise.all([this.#last, ended]).then(() => undefined)
    return answer
  }

  async #start(config: unknown, values: unknown): Promise<PgResult> {
    if (this.#isRevoked) throw revoked()
    const query = readQuery(config, values)
    refuseControl(query.text)
    refuseSettings(query.text, this.#isAlone)
    await this.#last
    if (!this.#mayStart) throw revoked()
    return this.#connection.passOn({
      text: query.text,
      ...(query.values === undefined ? {} : { values: [...query.values] }),
      ...(query.rowMode === undefined ? {} : { rowMode: query.rowMode }),
    })
  }
}

function refuseControl(text: string): void {
  const control = findTransactionControl(text, REFUSED, 'postgres')
  if (control === undefined) return
  throw new HookonceError(
    'TRANSACTION_CONTROL',
    `A handler's transaction is opened and ended by hookonce: ${control} is refused`,
  )
}

/**
 * A setting outlives the handler that made it, and the group's other events would run with it: with
 * another tenant, say, under row-level security. One event alone may have what ends with its transaction.
 * The rest would stay on a connection that goes back to the user's pool.
 */
function refuseSettings(text: string, isAlone: boolean): void {
  for (const { keyword, isLocal } of listSettingChanges(text)) {
    if (!isAlone) throw new SettingRefusedError(keyword)
    if (isLocal) continue
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `${keyword} would outlive the handler's transaction: use SET LOCAL …, or set_config(…, …, true)`,
    )
  }
}

function readQuery(config: unknown, values: unknown): PostgresTxQuery {
  const query = typeof config === 'string' ? { text: config, values } : config
  if (typeof query !== 'object' || query === null || 'submit' in query || !('text' in query)) {
    // A cursor or a stream reads on after we have looked away.
    throw new OptionInvalidError('tx.query', 'given a text, or { text, values, rowMode }', config)
  }
  const { text, values: given } = query as { text: unknown; values?: unknown }
  if (typeof text !== 'string') throw new OptionInvalidError('tx.query text', 'a string', text)
  if (given !== undefined && !Array.isArray(given))
    throw new OptionInvalidError('tx.query values', 'a list', given)
  return { ...query, text, values: given }
}

function revoked(): HookonceError {
  return new HookonceError(
    'TX_REVOKED',
    'The handler has returned or timed out, and its transaction with it. Is an await missing?',
  )
}
