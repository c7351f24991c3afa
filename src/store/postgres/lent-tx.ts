/**
 * The transaction as a handler gets it.
 *
 * It refuses what would end or change the transaction, runs one statement at a time, knows which
 * statements the handler did not wait for, and is worth nothing once the handler has returned. This
 * is the first of several checks: `settle` proves that the transaction is still the one that claimed
 * the events, and a deferred trigger makes every COMMIT but ours fail (`sql/fence-commit.ts`).
 *
 * @module
 */

import {
  asError,
  HookonceError,
  OptionInvalidError,
  SettingRefusedError,
  TransactionAbortedError,
} from '../../errors.ts'
import type { LentTx } from '../contract/transaction.ts'
import { findGroupHazard } from '../shared/group-hazard.ts'
import { requireFunction, requireWrite } from '../contract/transaction.ts'
import { readNestedControl } from '../shared/nested-control.ts'
import { Savepoints } from '../shared/savepoints.ts'
import { allowUnawaited } from '../shared/unawaited.ts'
import { findTransactionControl, listStatementKeywords } from '../shared/transaction-control.ts'
import type { Connection } from './connection.ts'
import type { PgPoolClient, PgResult } from './driver.ts'
import type { PostgresTx } from './tx.ts'
import type { PendingWrites } from './pending-writes.ts'
import { NO_OPTIONS, readQuery, refuseCallback } from './read-query.ts'
import type { ReadQuery } from './read-query.ts'
import type { SessionWatch, Told } from './session-watch.ts'
import { listSettingChanges } from './setting-change.ts'
import { findSettingNames } from './sql/session-state.ts'
import { TEXT_LENGTH_MAX } from './statement-names.ts'
import type { StatementNames } from './statement-names.ts'
import { findSqlState } from './store-error.ts'
import { runsUnknownCode } from './unknown-code.ts'

/** The code of "current transaction is aborted". */
const IN_FAILED_TRANSACTION = '25P02'

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

const NOTHING: PgResult = { command: '', rowCount: null, rows: [], fields: [] }

interface LentOptions {
  readonly isAlone: boolean
  readonly names?: StatementNames | undefined
  readonly writes: PendingWrites
  readonly watch: SessionWatch
}

/** What is done before and after a statement is passed on. */
type Around = (pass: () => Promise<PgResult>) => Promise<PgResult>

const lentTxs = new WeakMap<object, LentPostgresTx>()

export class LentPostgresTx implements LentTx<PostgresTx> {
  readonly tx: PostgresTx = this.#makeTx()
  readonly #connection: Connection
  readonly #writes: PendingWrites
  readonly #isAlone: boolean
  readonly #names: StatementNames | undefined
  readonly #watch: SessionWatch
  #isRevoked = false
  #mayStart = true
  #madeSavepoints: Savepoints | undefined
  /**
   * An error that the handler had because it shares the transaction with other events. It may have caught it, behind
   * a savepoint, and gone on as if it were about its own statement.
   */
  #imposed: Error | undefined
  #last: Promise<unknown> | undefined

  constructor(connection: Connection, { isAlone, names, writes, watch }: LentOptions) {
    this.#connection = connection
    this.#writes = writes
    this.#isAlone = isAlone
    this.#names = isAlone ? undefined : names
    this.#watch = watch
    lentTxs.set(this.tx, this)
  }

  /** Whether every further statement is refused. */
  get isRevoked(): boolean {
    return this.#isRevoked
  }

  /** Runs a statement of ours among the handler's, and in their order, but not with settings of the handler's. */
  queryAsOurs(text: string, values: readonly unknown[]): Promise<PgResult> {
    return this.#send(
      () => ({ text, values, options: NO_OPTIONS }),
      (pass) => this.#watch.local.aside(pass),
    )
  }

  /** Lets a library send what it builds itself, in the order of the calls. `text` is what is looked at before. */
  submit<Result>(text: string, send: (client: PgPoolClient) => Promise<Result>): Promise<Result> {
    let answer: Result | undefined
    const pass = async (): Promise<PgResult> => {
      answer = await this.#connection.submit(send).catch((error: unknown) => this.#fail(error))
      return NOTHING
    }
    return this.#send(() => this.#read(text, undefined), pass).then(() => answer as Result)
  }

  findImposed(): Error | undefined {
    return this.#imposed
  }

  requireClosed(): void {
    if (this.#imposed !== undefined) throw this.#imposed
    this.#madeSavepoints?.requireClosed()
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
    // Writes that wait by now belong to the next handler that has the transaction.
    if (!this.#mayStart) throw revoked()
    await this.#writes.send()
  }

  /** Throws at once, where the handler made the call, what can be known before anything is sent. */
  #write(text: unknown, values: unknown): void {
    if (this.#isRevoked) throw revoked()
    const write = requireWrite(text, values)
    const found = this.#inspect(write.text)
    this.#refuseUnsafe(found)
    this.#watch.note(found, this.#isAlone)
    // COPY takes the next message for its rows, and ends the connection when they are none.
    if (found.isCopy)
      throw new OptionInvalidError('tx.write text', 'a statement other than COPY', text)
    this.#writes.add(write)
  }

  /** With a `speaker`, one whose transactions are savepoints. */
  #makeTx(speaker?: object): PostgresTx {
    const tx = Object.freeze({
      query: (config: unknown, values?: unknown, callback?: unknown) => {
        refuseCallback(config, values, callback)
        if (speaker === undefined) return this.#query(config, values)
        return allowUnawaited(this.#queryNested(speaker, config, values))
      },
      write: (text: unknown, values?: unknown) => this.#write(text, values),
      savepoint: (work: (tx: unknown) => unknown) =>
        allowUnawaited(this.#runBehindSavepoint(work, tx)),
      asNested: () => this.#makeTx({}),
    })
    return tx as PostgresTx
  }

  #query(config: unknown, values: unknown): Promise<PgResult> {
    return this.#send(() => this.#read(config, values))
  }

  #read(config: unknown, values: unknown): ReadQuery {
    const query = readQuery(config, values)
    const found = this.#inspect(query.text)
    this.#refuseUnsafe(found)
    this.#watch.note(found, this.#isAlone)
    return query
  }

  async #queryNested(speaker: object, config: unknown, values: unknown): Promise<PgResult> {
    const control = readNestedControl(readQuery(config, values).text, 'postgres')
    if (control === undefined) {
      this.#madeSavepoints?.requireWhole(speaker)
      return this.#query(config, values)
    }
    await this.#savepoints.control(control, speaker)
    return { command: control.command, rowCount: null, rows: [], fields: [] }
  }

  async #runBehindSavepoint(work: (tx: unknown) => unknown, tx: unknown): Promise<unknown> {
    requireFunction('tx.savepoint', work)
    return this.#savepoints.run(() => work(tx))
  }

  /** Made for the few handlers that set a savepoint. */
  get #savepoints(): Savepoints {
    this.#madeSavepoints ??= new Savepoints({
      run: async (text) => {
        await this.#send(() => ({ text, values: undefined, options: NO_OPTIONS })).catch(
          (error: unknown) => {
            // A statement failed before, and the handler went on: that is the error to tell, and not the savepoint.
            if (findSqlState(error) !== IN_FAILED_TRANSACTION) throw error
            throw new TransactionAbortedError(undefined, { cause: error })
          },
        )
      },
      dropWrites: () => this.#writes.drop(),
    })
    return this.#madeSavepoints
  }

  /** Sends in the order of the calls. A call whose `read` throws is refused, and the others go on. */
  #send(read: () => ReadQuery, around: Around = (pass) => pass()): Promise<PgResult> {
    const before = this.#last
    const answer = this.#start(read, around)
    // A statement that fails without being awaited must not end the process either; the transaction's status
    // tells of it. One that was refused ends before those that are still on their way.
    const after = (): Promise<unknown> | undefined => before
    this.#last = answer.then(after, after)
    return answer
  }

  async #start(read: () => ReadQuery, around: Around): Promise<PgResult> {
    if (this.#isRevoked) throw revoked()
    const query = read()
    const writesBefore = this.#writes.added
    await this.#last
    if (!this.#mayStart) throw revoked()
    if (!this.#writes.isEmpty) {
      await this.#writes.send(writesBefore).catch((error: unknown) => this.#fail(error))
      // Time may have run out meanwhile, and the transaction may have gone back to a savepoint.
      if (!this.#mayStart) throw revoked()
    }
    const preparing = this.#watch.prepare()
    if (preparing !== undefined) await preparing
    if (!this.#mayStart) throw revoked()
    return around(() => this.#pass(query))
  }

  async #pass({ text, values, options }: ReadQuery): Promise<PgResult> {
    // What was done around it may have taken the time that was left.
    if (!this.#mayStart) throw revoked()
    const sent = { text, ...(values !== undefined && { values: [...values] }), ...options }
    // Without values there may be several statements in the text, which cannot have a name.
    const hasValues = values !== undefined && values.length > 0
    const name = hasValues && options.name === undefined ? this.#names?.find(text) : undefined
    try {
      return await this.#connection.passOn(name === undefined ? sent : { ...sent, name })
    } catch (error) {
      const isForName = name !== undefined && this.#names?.refuse(text, error) === true
      return this.#fail(error, isForName)
    }
  }

  #inspect(text: string): Inspected {
    const found = inspect(text)
    const hazard = found.hazard ?? this.#watch.findHazard(text)
    return hazard === found.hazard ? found : { ...found, hazard }
  }

  #refuseUnsafe(found: Inspected): void {
    try {
      refuseUnsafe(found, this.#isAlone)
    } catch (error) {
      this.#fail(error, error instanceof SettingRefusedError)
    }
  }

  #fail(error: unknown, isImposed = false): never {
    if (isImposed || (!this.#isAlone && isLockTimeout(error))) this.#imposed ??= asError(error)
    throw error
  }
}

/** What is behind a transaction that a handler was lent; `undefined` for one of the user's own. */
export function findLentTx(tx: object): LentPostgresTx | undefined {
  return lentTxs.get(tx)
}

/** Whether our own limit ended the wait. NOWAIT answers with the same code, and the handler has asked for that. */
function isLockTimeout(error: unknown): boolean {
  if (findSqlState(error) !== '55P03') return false
  return (error as { readonly routine?: unknown }).routine === 'ProcessInterrupts'
}

interface Inspected extends Told {
  readonly control: string | undefined
  readonly hazard: string | undefined
  readonly isCopy: boolean
  readonly isReadOnly: boolean
}

/** Handlers send the same few texts again and again, and reading one takes longer than finding it here. */
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
    // Texts that are put together anew each time would fill the map: then it starts over.
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
  // Such a transaction cannot be made writable again, and what becomes of the event is written in it.
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

function revoked(): HookonceError {
  return new HookonceError(
    'TX_REVOKED',
    'The handler has returned or timed out, and its transaction with it. Is an await missing?',
  )
}
