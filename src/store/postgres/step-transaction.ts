/**
 * The transaction of a step: it holds the lease, what the handler writes, and the step's result.
 *
 * Two round trips beside the handler's own statements. The values of ours are put into the text, since one
 * text with several statements takes no parameters: as numbers, a uuid that was checked, or hex.
 *
 * @module
 */

import type { CommitResult } from '../contract.ts'
import type { OpenStepRequest, StepTransaction } from '../steps-contract.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import { withoutNul } from './binary-array.ts'
import type { PostgresTx } from './driver.ts'
import { HeldTransaction } from './held-transaction.ts'
import type { OpenTransaction } from './held-transaction.ts'
import { isEventId } from './is-event-id.ts'
import { beginText } from './transaction.ts'

export class PostgresStepTransaction
  extends HeldTransaction
  implements StepTransaction<PostgresTx>
{
  readonly #finish: (result: string) => string

  constructor(transaction: OpenTransaction, finish: (result: string) => string) {
    super(transaction)
    this.#finish = finish
  }

  async commit(result: string | undefined): Promise<CommitResult> {
    return this.commitAfter([this.#finish(result === undefined ? 'null' : asText(result))])
  }
}

export interface StepTransactionContext {
  readonly cancel: (pid: number) => Promise<void>
  readonly onEnd: (transaction: HeldTransaction) => void
}

/** Takes the connection; gives it back when the lease is lost. */
export async function openStepTransaction(
  connection: Connection,
  { lease, handler, position, kind, name, idleTimeoutMs }: OpenStepRequest,
  { cancel, onEnd }: StepTransactionContext,
): Promise<PostgresStepTransaction | undefined> {
  const event = `${requireUuid(lease.eventId)}, ${whole(lease.run)}`
  const step = `${asText(handler)}, ${whole(position)}`
  const begin = beginText({ statementTimeoutMs: 0, lockTimeoutMs: 0, idleTimeoutMs })
  let row: { pid?: unknown; xid?: unknown } | undefined
  try {
    const results = await connection.run(
      `${begin}; select pid, xid from ${connection.schema}.open_step(${event}, ${whole(lease.token)}, ` +
        `${step}, '${kind}', ${asText(name)})`,
    )
    row = results.at(-1)?.rows[0]
  } catch (error) {
    await rollBack(connection)
    throw error
  }
  if (row === undefined) {
    await rollBack(connection)
    return undefined
  }
  const pid = Number(row.pid)
  return new PostgresStepTransaction(
    { connection, xid: String(row.xid), isAlone: true, cancel: () => cancel(pid), onEnd },
    (result) => `${connection.schema}.finish_step(${event}, ${step}, ${result})`,
  )
}

/** Hex, whatever `standard_conforming_strings` is. */
function asText(text: string): string {
  const hex = Buffer.from(withoutNul(text)).toString('hex')
  return `convert_from(decode('${hex}', 'hex'), 'UTF8')`
}

function whole(value: number): number {
  if (!Number.isSafeInteger(value)) throw new Error(`Not a whole number: ${String(value)}`)
  return value
}

function requireUuid(eventId: string): string {
  if (!isEventId(eventId)) throw new Error('Not the id of an event')
  return `'${eventId}'`
}
