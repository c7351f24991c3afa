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
import { requireWrite } from '../lent-transaction.ts'
import { findGroupHazard } from '../group-hazard.ts'
import { findTransactionControl, listStatementKeywords } from '../transaction-control.ts'
import type { Connection } from './connection.ts'
import type { PgResult, PostgresTx, PostgresTxQuery } from './driver.ts'
import { listSettingChanges } from './setting-change.ts'
import type { PendingWrites } from './pending-writes.ts'
import type { SessionWatch, Told } from './session-watch.ts'
import { findSettingNames } from './sql/session-state.ts'
import { TEXT_LENGTH_MAX } from './statement-names.ts'
import type { StatementNames } from './statement-names.ts'
import { runsUnknownCode } from './unknown-code.ts'

/** DEALLOCATE is among them since the names are not the handler's: the driver would go on to use them. */
const REFUSED: ReadonlySet<string> = new Set([
  'ABORT',
  'BEGIN',
  'COMMIT',
  'DEALLOCATE',
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

interface LentOptions {
  readonly isAlone: boolean
  readonly names?: StatementNames | undefined
  readonly writes: PendingWrites
  readonly watch: SessionWatch
}

const lentTxs = new WeakMap<object, LentPostgresTx>()

/** What is behind a transaction that a handler was lent; `undefined` for one of the user's own. */
export function findLentTx(tx: object): LentPostgresTx | undefined {
  return lentTxs.get(tx)
}

export class LentPostgresTx implements LentTx<PostgresTx> {
  readonly tx: PostgresTx = Object.freeze({
    query: (config: unknown, values?: unknown) => this.#query(config, values),
    write: (text: unknown, values?: unknown) => this.#write(text, values),
  }) as PostgresTx
  readonly #connection: Connection
  readonly #writes: PendingWrites
  readonly #isAlone: boolean
  readonly #names: StatementNames | undefined
  readonly #watch: SessionWatch
  #isRevoked = false
  #mayStart = true
  #last: Promise<unknown> | undefined

  constructor(connection: Connection, { isAlone, names, writes, watch }: LentOptions) {
    this.#connection = connection
    this.#writes = writes
    this.#isAlone = isAlone
    this.#names = isAlone ? undefined : names
    this.#watch = watch
    lentTxs.set(this.tx, this)
  }

  /** Runs a statement of ours among the handler's, and in their order, but not with settings of the handler's. */
  queryAsOurs(text: string, values: readonly unknown[]): Promise<PgResult> {
    return this.#enqueue(() =>
      this.#start({ text, values }, (query) => this.#watch.local.aside(() => this.#send(query))),
    )
  }

  async revoke(): Promise<void> {
    this.#isRevoked = true
    if (this.#last !== undefined) await this.#last
    await this.#connection.untilAnswered()
  }

  revokeNow(): void {
    this.#isRevoked = true
    this.#mayStart = false
  }

  async flush(): Promise<void> {
    await this.#last
    // What waits by now belongs to whoever has the transaction.
    if (!this.#mayStart) throw revoked()
    await this.#writes.send()
  }

  /** Throws where the handler stands what can be known there. */
  #write(text: unknown, values: unknown): void {
    if (this.#isRevoked) throw revoked()
    const write = requireWrite(text, values)
    const found = inspect(write.text)
    refuseUnsafe(found, this.#isAlone)
    this.#watch.note(found, this.#isAlone)
    // It takes what is sent after it for its rows, and ends the connection when they are none.
    if (found.isCopy)
      throw new OptionInvalidError('tx.write text', 'a statement other than COPY', text)
    this.#writes.add(write)
  }

  #query(config: unknown, values: unknown): Promise<PgResult> {
    return this.#enqueue(async () => {
      if (this.#isRevoked) throw revoked()
      const query = readQuery(config, values)
      const found = inspect(query.text)
      refuseUnsafe(found, this.#isAlone)
      this.#watch.note(found, this.#isAlone)
      return this.#start(query, (ready) => this.#send(ready))
    })
  }

  #enqueue(run: () => Promise<PgResult>): Promise<PgResult> {
    const before = this.#last
    const answer = run()
    // Also one that nobody waits for and that fails must not end the process; the transaction's status
    // tells of it. One that was refused ends before those that are still on their way.
    const after = (): Promise<unknown> | undefined => before
    this.#last = answer.then(after, after)
    return answer
  }

  async #start(
    query: PostgresTxQuery,
    send: (query: PostgresTxQuery) => Promise<PgResult>,
  ): Promise<PgResult> {
    if (this.#isRevoked) throw revoked()
    const writesBefore = this.#writes.added
    await this.#last
    if (!this.#mayStart) throw revoked()
    if (!this.#writes.isEmpty) {
      await this.#writes.send(writesBefore)
      // Time may have run out meanwhile, and the transaction may have gone back to a mark.
      if (!this.#mayStart) throw revoked()
    }
    const preparing = this.#watch.prepare()
    if (preparing !== undefined) await preparing
    return send(query)
  }

  async #send({ text, values: given, rowMode }: PostgresTxQuery): Promise<PgResult> {
    // Without values there may be several statements in the text, which cannot have a name.
    const name = given === undefined ? undefined : this.#names?.find(text)
    const sent = {
      text,
      ...(given === undefined ? {} : { values: [...given] }),
      ...(rowMode === undefined ? {} : { rowMode }),
    }
    if (name === undefined) return this.#connection.passOn(sent)
    try {
      return await this.#connection.passOn({ ...sent, name })
    } catch (error) {
      this.#names?.refuse(text, error)
      throw error
    }
  }
}

interface Inspected extends Told {
  readonly control: string | undefined
  readonly hazard: string | undefined
  readonly isCopy: boolean
  readonly isReadOnly: boolean
}

/** Handlers say the same few things again and again, and reading one takes longer than finding it here. */
const inspected = new Map<string, Inspected>()
const INSPECTED_MAX = 1_000

function inspect(text: string): Inspected {
  let found = inspected.get(text)
  if (found === undefined) {
    found = {
      control: findTransactionControl(text, REFUSED, 'postgres'),
      hazard: findGroupHazard(text, 'postgres'),
      isCopy: listStatementKeywords(text, 'postgres').includes('COPY'),
      settings: listSettingChanges(text),
      isReadOnly: /\btransaction_read_only\b/i.test(text),
      isUnknown: runsUnknownCode(text),
      names: findSettingNames(text),
    }
    // Texts that are put together anew each time would fill it: starting over is enough then.
    if (inspected.size >= INSPECTED_MAX) inspected.clear()
    if (text.length <= TEXT_LENGTH_MAX) inspected.set(text, found)
  }
  return found
}

/**
 * A setting outlives the handler that made it, and the group's other events would run with it: with
 * another tenant, say, under row-level security. One event alone may have what ends with its transaction.
 * The rest would stay on a connection that goes back to the user's pool. What is hidden in a function is
 * found later (`session-watch.ts`).
 */
function refuseUnsafe(found: Inspected, isAlone: boolean): void {
  const { control, hazard, settings, isReadOnly, isUnknown } = found
  if (control !== undefined) {
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `A handler's transaction is opened and ended by hookonce: ${control} is refused`,
    )
  }
  if (hazard !== undefined && !isAlone) throw new SettingRefusedError(hazard)
  // It cannot be put back, and what becomes of the event is written in the same transaction.
  if (isReadOnly && (settings.length > 0 || isUnknown)) {
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      'transaction_read_only is refused: what becomes of the event is written in the same transaction',
    )
  }
  for (const { keyword, isLocal } of settings) {
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
