import { HookonceError, SettingRefusedError } from '../../errors.ts'
import { requireOneOf } from '../../options/require-one-of.ts'
import { findGroupHazard } from '../shared/group-hazard.ts'
import { findTransactionControl, listStatementKeywords } from '../shared/transaction-control.ts'
import type { HandlerClock, LentTx } from '../contract/transaction.ts'
import { requireFunction, requireWrite } from '../contract/transaction.ts'
import type { Write } from '../contract/transaction.ts'
import { readNestedControl } from '../shared/nested-control.ts'
import { Savepoints } from '../shared/savepoints.ts'
import { allowUnawaited } from '../shared/unawaited.ts'
import { toSqlValue } from './driver.ts'
import type { SqlAnswer, SqlValue } from './driver.ts'
import { numberPlaceholders } from './placeholders.ts'
import { replaceProbe } from './require-transaction.ts'
import type { SqliteTx, SqliteTxQueryOptions, SqliteTxResult } from './tx.ts'

/** PRAGMA is among them since some pragmas commit, and ATTACH would move writes out of our transaction's file. */
const REFUSED: ReadonlySet<string> = new Set([
  'BEGIN',
  'COMMIT',
  'END',
  'ROLLBACK',
  'SAVEPOINT',
  'RELEASE',
  'ATTACH',
  'DETACH',
  'PRAGMA',
  'VACUUM',
])

/** The transaction behind a lent one, as far as it is needed here. */
export interface Lender {
  /** Opens it if nothing is in the way, and says whether it is open. Throws if it has ended. */
  openNow(): boolean
  /** Opens it as soon as the writer is free. */
  open(): Promise<void>
  query(sql: string, params: readonly unknown[], isArray: boolean): SqlAnswer
  execute(sql: string): void
}

interface LentOptions {
  /** Whether one event has the transaction for itself. */
  readonly isAlone: boolean
  readonly clock?: HandlerClock | undefined
}

type Result = ReturnType<Lender['query']>

/** What `tx.query` is called with. */
type Given = Parameters<SqliteTx['query']>

interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
  readonly hasSeveral: boolean
  /** Whether its rows are lists. */
  readonly isArray: boolean
}

/** A statement that was called before the transaction was open. */
interface Waiting {
  readonly statement: Statement
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

const lentTxs = new WeakMap<object, LentSqliteTx>()

/**
 * A statement runs before the call returns, also one that is not awaited. Only one that is called before the
 * transaction is open waits, with all that are called after it, and then they run in their order.
 */
export class LentSqliteTx implements LentTx<SqliteTx> {
  readonly tx: SqliteTx = this.#makeTx()
  readonly #lender: Lender
  readonly #isAlone: boolean
  readonly #clock: HandlerClock | undefined
  #isRevoked = false
  #waiting: Waiting[] = []
  /** Until what waits has run. Never rejects. */
  #opening: Promise<void> | undefined
  /** What the first write that had to wait, and failed, was told. */
  #failure: { readonly error: unknown } | undefined
  #madeSavepoints: Savepoints | undefined
  /** An error that the handler had because it shares the transaction with other events. It may have caught it. */
  #imposed: Error | undefined

  constructor(lender: Lender, { isAlone, clock }: LentOptions) {
    this.#lender = lender
    this.#isAlone = isAlone
    this.#clock = clock
    lentTxs.set(this.tx, this)
  }

  /** Whether it takes no further statements. */
  get isRevoked(): boolean {
    return this.#isRevoked
  }

  findImposed(): Error | undefined {
    return this.#imposed
  }

  requireClosed(): void {
    if (this.#imposed !== undefined) throw this.#imposed
    this.#madeSavepoints?.requireClosed()
  }

  async flush(): Promise<void> {
    await this.#opening
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async revoke(): Promise<void> {
    this.#isRevoked = true
    await this.#opening
  }

  revokeNow(): void {
    this.#isRevoked = true
    for (const { reject } of this.#waiting.splice(0)) reject(revoked())
  }

  /** With a `speaker`, one whose transactions are savepoints. */
  #makeTx(speaker?: object): SqliteTx {
    const tx: SqliteTx = Object.freeze({
      query: <Row>(...given: Given) => {
        const answer =
          speaker === undefined ? this.#query(...given) : this.#queryNested(speaker, ...given)
        return allowUnawaited(answer) as Promise<SqliteTxResult<Row>>
      },
      write: (sql: string, params?: readonly unknown[]) => this.#write(sql, params),
      savepoint: <Result>(work: (tx: SqliteTx) => Result | Promise<Result>) =>
        allowUnawaited(this.#runBehindSavepoint(work, tx)),
      asNested: () => this.#makeTx({}),
    })
    return tx
  }

  /** The promise is there for the same shape as PostgreSQL's. */
  #query(...[sql, params, options]: Given): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const isArray = readRowMode(options)
      const statement = this.#prepare(requireWrite(sql, params, 'tx.query'), isArray)
      if (this.#isOpen()) resolve(this.#run(statement))
      else this.#wait({ statement, resolve, reject })
    })
  }

  async #queryNested(speaker: object, ...given: Given): Promise<Result> {
    const [sql, params, options] = given
    const { text } = requireWrite(sql, params, 'tx.query')
    const control = readNestedControl(text, 'sqlite')
    if (control === undefined) {
      this.#madeSavepoints?.requireWhole(speaker)
      return this.#query(replaceProbe(text), params, options)
    }
    await this.#savepoints.control(control, speaker)
    return { rows: [], rowCount: 0 }
  }

  async #runBehindSavepoint<Given>(
    work: (tx: SqliteTx) => Given | Promise<Given>,
    tx: SqliteTx,
  ): Promise<Given> {
    requireFunction('tx.savepoint', work)
    return this.#savepoints.run(() => work(tx))
  }

  /** Made for the few handlers that have any. */
  get #savepoints(): Savepoints {
    this.#madeSavepoints ??= new Savepoints({
      run: (sql) => this.#runOwn(sql),
      // The transaction is open once a savepoint is set, and then a statement has run when the call returns.
      dropWrites: () => {},
    })
    return this.#madeSavepoints
  }

  /** Statements of ours, in their order among those of the handler. */
  #runOwn(sql: string): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (this.#isRevoked) throw revoked()
      const statement = { sql, values: [], hasSeveral: true, isArray: false }
      if (!this.#isOpen()) return this.#wait({ statement, resolve: () => resolve(), reject })
      this.#run(statement)
      resolve()
    })
  }

  #write(sql: string, params?: readonly unknown[]): void {
    const statement = this.#prepare(requireWrite(sql, params))
    if (this.#isOpen()) return void this.#run(statement)
    const reject = (error: unknown): void => void (this.#failure ??= { error })
    this.#wait({ statement, resolve: () => undefined, reject })
  }

  /** Throws what is wrong with the call itself. */
  #prepare({ text, values }: Write, isArray = false): Statement {
    if (this.#isRevoked) throw revoked()
    refuseControl(text)
    if (!this.#isAlone) this.#refuseTemporary(text)
    // A binding prepares the first statement of a text and drops the others without a word.
    const hasSeveral = listStatementKeywords(text, 'sqlite').length > 1
    if (hasSeveral && values.length > 0)
      throw new TypeError('A text of several statements cannot have parameters')
    const sql = hasSeveral ? text : numberPlaceholders(text)
    return { sql, values: values.map(toSqlValue), hasSeveral, isArray }
  }

  /** Other events of the group would meet it. */
  #refuseTemporary(text: string): void {
    const hazard = findGroupHazard(text, 'sqlite')
    if (hazard === undefined) return
    this.#imposed ??= new SettingRefusedError(hazard)
    throw this.#imposed
  }

  #run({ sql, values, hasSeveral, isArray }: Statement): Result {
    if (!hasSeveral) return this.#lender.query(sql, values, isArray)
    this.#lender.execute(sql)
    return { rows: [], rowCount: 0 }
  }

  #isOpen(): boolean {
    return this.#opening === undefined && this.#lender.openNow()
  }

  /** Bytes are copied: the handler may change them before the statement runs. */
  #wait({ statement, resolve, reject }: Waiting): void {
    const values = statement.values.map(copyOf)
    this.#waiting.push({ statement: { ...statement, values }, resolve, reject })
    this.#opening ??= this.#open()
  }

  async #open(): Promise<void> {
    this.#clock?.pause()
    try {
      await this.#lender.open()
      for (const waiting of this.#waiting.splice(0)) this.#runWaiting(waiting)
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    } finally {
      this.#opening = undefined
      this.#clock?.resume()
    }
  }

  #runWaiting({ statement, resolve, reject }: Waiting): void {
    try {
      resolve(this.#run(statement))
    } catch (error) {
      reject(error)
    }
  }
}

/** What is behind a transaction that a handler was lent; `undefined` for one of the user's own. */
export function findLentTx(tx: object): LentSqliteTx | undefined {
  return lentTxs.get(tx)
}

function readRowMode(options: SqliteTxQueryOptions | undefined): boolean {
  const rowMode = options?.rowMode
  if (rowMode !== undefined) requireOneOf('tx.query rowMode', rowMode, ['array'])
  return rowMode === 'array'
}

function copyOf(value: SqlValue): SqlValue {
  return value instanceof Uint8Array ? value.slice() : value
}

function refuseControl(sql: string): void {
  const keyword = findTransactionControl(sql, REFUSED, 'sqlite')
  if (keyword === undefined) return
  throw new HookonceError(
    'TRANSACTION_CONTROL',
    `${keyword} is not for a handler: its transaction is ours to end`,
  )
}

function revoked(): HookonceError {
  return new HookonceError('TX_REVOKED', 'This transaction was lent to a handler that has ended')
}
