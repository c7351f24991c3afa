import { TransactionAbortedError } from '../../errors.ts'
import type { MessageDraft, MessageId, MessageRecord } from '../../model/message.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type {
  ClaimedMessage,
  MessageQuery,
  MessageSettlement,
  OutboxStore,
  PausedDestination,
} from '../contract/messages.ts'
import type { Connections } from './connections.ts'
import type { OwnTx } from '../contract/transaction.ts'
import type { PostgresTx } from './driver.ts'
import { isEventId } from './is-event-id.ts'
import { findLentTx } from './lent-tx.ts'
import { MessageMarks } from './message-marks.ts'
import { requireTransaction } from './require-transaction.ts'
import { findSqlState } from './store-error.ts'
import {
  asClaimedMessage,
  CLAIM_MESSAGES,
  claimValues,
  readDueForMs,
} from './sql/claim-messages.ts'
import { confirmMessage, discardMessage, retryMessage } from './sql/decide-message.ts'
import { ENQUEUE_MESSAGES, enqueueMessages } from './sql/enqueue-messages.ts'
import type { Enqueue } from './sql/enqueue-messages.ts'
import { findMessage, listMessages } from './sql/message-record.ts'
import { findNextMessageDueInMs } from './sql/next-message-due.ts'
import {
  listPausedDestinations,
  pauseDestination,
  resumeDestination,
} from './sql/paused-destinations.ts'
import { SETTLE_MESSAGES, settleMessageValues } from './sql/settle-messages.ts'

const IN_FAILED_TRANSACTION = '25P02'

/** The part of the store that keeps messages. */
export class PostgresOutbox implements OutboxStore<PostgresTx> {
  readonly #connections: Connections
  // Nothing is decided by the time in a message's id, so this process's clock will do.
  readonly #newId = createUuidV7Generator(Date.now)
  readonly #enqueueText: string
  readonly #marks = new MessageMarks()

  constructor(connections: Connections, schema: string) {
    this.#connections = connections
    this.#enqueueText = ENQUEUE_MESSAGES.replaceAll('{schema}', `"${schema}"`)
  }

  async enqueueMessages(tx: OwnTx<PostgresTx>, messages: readonly MessageDraft[]): Promise<void> {
    if (messages.length === 0) return
    const numbered = messages.map((draft) => ({ id: this.#newId(), draft }))
    // A handler may have taken on a role that may not write our tables.
    const lent = findLentTx(tx)
    const run: Enqueue = (text, values) => lent?.queryAsOurs(text, values) ?? tx.query(text, values)
    try {
      await enqueueMessages(run, this.#enqueueText, numbered)
    } catch (error) {
      // The messages are not at fault: an earlier statement failed, and the handler ignored its error.
      if (findSqlState(error) === IN_FAILED_TRANSACTION)
        throw new TransactionAbortedError(undefined, { cause: error })
      throw error
    }
  }

  async requireTransaction(tx: OwnTx<PostgresTx>): Promise<void> {
    // What a handler was lent is one, and asking would change a setting of those who share it.
    if (findLentTx(tx) === undefined) await requireTransaction(tx)
  }

  async claimMessages({
    wanted,
    leaseMs,
  }: Parameters<OutboxStore<PostgresTx>['claimMessages']>[0]): Promise<readonly ClaimedMessage[]> {
    if (wanted.length === 0) return []
    const marked = wanted.map((each) => this.#marks.begin(each))
    const values = claimValues(marked, leaseMs)
    const rows = await this.#connections.commitQuery(CLAIM_MESSAGES, values)
    const dueForMs = readDueForMs(rows)
    for (const each of marked) this.#marks.end(each, dueForMs.get(each.destination))
    return rows.map(asClaimedMessage)
  }

  async settleMessages(settlements: readonly MessageSettlement[]): Promise<ReadonlySet<string>> {
    if (settlements.length === 0) return new Set()
    const values = settleMessageValues(settlements)
    const rows = await this.#connections.commitQuery<'token'>(SETTLE_MESSAGES, values)
    return new Set(rows.map(({ token }) => token ?? ''))
  }

  async nextMessageDueInMs(
    destinations: readonly string[],
    withinMs: number,
  ): Promise<number | undefined> {
    const marked = destinations.map((destination) => this.#marks.find(destination))
    const dueInMs = await this.#connections.use(async (connection) =>
      findNextMessageDueInMs(connection, marked, withinMs),
    )
    const known = [dueInMs, ...marked.map(({ wholeInMs }) => wholeInMs)].filter(
      (ms) => ms !== undefined,
    )
    return known.length === 0 ? undefined : Math.min(...known)
  }

  async pauseDestination(name: string, reason: string): Promise<boolean> {
    return this.#connections.transact(async (connection) =>
      pauseDestination(connection, name, reason),
    )
  }

  async resumeDestination(name: string): Promise<boolean> {
    return this.#connections.transact(async (connection) => resumeDestination(connection, name))
  }

  async listPausedDestinations(): Promise<readonly PausedDestination[]> {
    return this.#connections.use(listPausedDestinations)
  }

  async findMessage(id: MessageId): Promise<MessageRecord | undefined> {
    return isEventId(id)
      ? this.#connections.use(async (connection) => findMessage(connection, id))
      : undefined
  }

  async listMessages(query: MessageQuery): Promise<readonly MessageRecord[]> {
    return this.#connections.use(async (connection) => listMessages(connection, query))
  }

  async retryMessage(id: MessageId): Promise<boolean> {
    return (
      isEventId(id) &&
      this.#connections.transact(async (connection) => retryMessage(connection, id))
    )
  }

  async confirmMessage(id: MessageId): Promise<boolean> {
    return (
      isEventId(id) &&
      this.#connections.transact(async (connection) => confirmMessage(connection, id))
    )
  }

  async discardMessage(id: MessageId): Promise<boolean> {
    return (
      isEventId(id) &&
      this.#connections.transact(async (connection) => discardMessage(connection, id))
    )
  }
}
