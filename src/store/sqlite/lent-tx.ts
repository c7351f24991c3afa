import { HookonceError } from '../../errors.ts'
import { findTransactionControl, listStatementKeywords } from '../transaction-control.ts'
import type { LentTx } from '../contract.ts'
import { requireFunction, requireWrite } from '../lent-transaction.ts'
import { readNestedControl } from '../nested-control.ts'
import { Savepoints } from '../savepoints.ts'
import type { SqlRow } from './driver.ts'
import { numberPlaceholders } from './placeholders.ts'

/** What a handler gets as `ctx.tx`: its writes and the event's completion commit together. */
export interface SqliteTx {
  /**
   * Runs a statement in the handler's transaction. Placeholders are `?` or `$1`. Bytes come and go as
   * `Uint8Array`; a whole number past 2^53 comes as `bigint`.
   *
   * Several statements may stand in one text if it has no parameters; their rows are not returned.
   */
  query<Row = SqlRow>(
    sql: string,
    params?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>
  /**
   * Runs a statement whose answer the handler does not need. Here it has run when the call returns, and throws
   * there what is wrong with it. On PostgreSQL it is sent later, and what the database refuses cannot be caught:
   * a handler for both stores does not catch it here either.
   */
  write(sql: string, params?: readonly unknown[]): void
  /**
   * Runs `work` behind a savepoint: what it throws undoes what was written in it, and is thrown on. The handler can
   * catch it and go on. They nest; two side by side fail the handler.
   */
  savepoint<Result>(work: (tx: SqliteTx) => Result | Promise<Result>): Promise<Result>
  /**
   * The same transaction for code that opens transactions itself, such as an ORM: its BEGIN, COMMIT and ROLLBACK,
   * alone in a text, become those of a savepoint. In `tx` itself they are refused.
   */
  asNested(): SqliteTx
}

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

/** The group behind a lent transaction, as far as it is needed here. */
export interface Lender {
  /** Throws if the transaction is no longer the group's. */
  assertOpen(): void
  query(sql: string, params: readonly unknown[]): { rows: SqlRow[]; rowCount: number }
  execute(sql: string): void
}

export function lendTx(lender: Lender): LentTx<SqliteTx> {
  let revoked = false
  const requireOpen = () => {
    if (revoked) {
      throw new HookonceError('TX_REVOKED', 'This transaction was lent to a handler that has ended')
    }
    lender.assertOpen()
  }
  let savepoints: Savepoints | undefined
  /** Made for the few handlers that have any. */
  const getSavepoints = () =>
    (savepoints ??= new Savepoints({
      run: async (sql) => {
        requireOpen()
        lender.execute(sql)
      },
      // A statement has run when the call returns.
      dropWrites: () => {},
    }))
  const makeTx = (query: Query): SqliteTx => {
    const tx: SqliteTx = {
      // SQLite runs a statement before the call returns; the promise is there for the same shape as
      // PostgreSQL's, so nothing is ever left to wait for when the handler has returned.
      query: async <Row>(sql: string, params?: readonly unknown[]) => {
        const { text, values } = requireWrite(sql, params, 'tx.query')
        requireOpen()
        return (await query(text, values)) as { rows: Row[]; rowCount: number }
      },
      write: (sql, params) => {
        const { text, values } = requireWrite(sql, params)
        requireOpen()
        runLent(lender, text, values)
      },
      savepoint: async (work) => {
        requireFunction('tx.savepoint', work)
        return getSavepoints().run(() => work(tx))
      },
      asNested: () => makeTx(queryNested),
    }
    return tx
  }
  const query: Query = (text, values) => runLent(lender, text, values)
  const queryNested: Query = (text, values) => {
    const control = readNestedControl(text, 'sqlite')
    if (control === undefined) return query(text, values)
    return getSavepoints()
      .control(control)
      .then(() => ({ rows: [], rowCount: 0 }))
  }
  return {
    tx: makeTx(query),
    requireClosed: () => savepoints?.requireClosed(),
    flush: async () => {},
    revoke: async () => {
      revoked = true
    },
    revokeNow: () => {
      revoked = true
    },
  }
}

interface Answer {
  readonly rows: SqlRow[]
  readonly rowCount: number
}

type Query = (text: string, values: readonly unknown[]) => Answer | Promise<Answer>

function runLent(lender: Lender, sql: string, params: readonly unknown[]): Answer {
  const keyword = findTransactionControl(sql, REFUSED, 'sqlite')
  if (keyword !== undefined) {
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `${keyword} is not for a handler: its transaction is ours to end`,
    )
  }
  // A binding prepares the first statement of a text and drops the others without a word.
  if (listStatementKeywords(sql, 'sqlite').length > 1) {
    if (params.length > 0)
      throw new TypeError('A text of several statements cannot have parameters')
    lender.execute(sql)
    return { rows: [], rowCount: 0 }
  }
  return lender.query(numberPlaceholders(sql), params)
}
