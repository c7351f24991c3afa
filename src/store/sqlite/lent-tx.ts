import { HookonceError, SettingRefusedError } from '../../errors.ts'
import { findGroupHazard } from '../group-hazard.ts'
import { findTransactionControl, listStatementKeywords } from '../transaction-control.ts'
import type { LentTx } from '../contract.ts'
import { requireWrite } from '../lent-transaction.ts'
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

export function lendTx(lender: Lender, { isAlone }: { isAlone: boolean }): LentTx<SqliteTx> {
  let revoked = false
  const query = (sql: string, params: readonly unknown[]) => {
    if (revoked) {
      throw new HookonceError('TX_REVOKED', 'This transaction was lent to a handler that has ended')
    }
    lender.assertOpen()
    const hazard = isAlone ? undefined : findGroupHazard(sql, 'sqlite')
    if (hazard !== undefined) throw new SettingRefusedError(hazard)
    return runLent(lender, sql, params)
  }
  return {
    tx: {
      // SQLite runs a statement before the call returns; the promise is there for the same shape as
      // PostgreSQL's, so nothing is ever left to wait for when the handler has returned.
      query: async <Row>(sql: string, params?: readonly unknown[]) => {
        const { text, values } = requireWrite(sql, params, 'tx.query')
        return query(text, values) as { rows: Row[]; rowCount: number }
      },
      write: (sql, params) => {
        const { text, values } = requireWrite(sql, params)
        query(text, values)
      },
    },
    flush: async () => {},
    revoke: async () => {
      revoked = true
    },
    revokeNow: () => {
      revoked = true
    },
  }
}

function runLent(
  lender: Lender,
  sql: string,
  params: readonly unknown[],
): { rows: SqlRow[]; rowCount: number } {
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
