import { HookonceError } from '../../errors.ts'
import type { MessageDraft, MessageId, MessageRecord } from '../../model/message.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type {
  ClaimedMessage,
  MessageQuery,
  MessageSettlement,
  MessageStore,
  PausedDestination,
} from '../contract/messages.ts'
import type { OwnTx } from '../contract/transaction.ts'
import type { Connections } from './connections.ts'
import type { SqliteTx } from './lent-tx.ts'
import { claimMessages, hasDueMessages } from './sql/claim-messages.ts'
import type { MessageClaim } from './sql/claim-messages.ts'
import { confirmMessage, discardMessage, retryMessage } from './sql/decide-message.ts'
import { enqueueMessages } from './sql/enqueue-messages.ts'
import { findMessage, listMessages } from './sql/message-record.ts'
import { findNextMessageDueInMs } from './sql/next-message-due.ts'
import {
  listPausedDestinations,
  pauseDestination,
  resumeDestination,
} from './sql/paused-destinations.ts'
import { settleMessages } from './sql/settle-messages.ts'

/** The part of the store that keeps messages. */
export class SqliteMessages implements MessageStore<SqliteTx> {
  readonly #connections: Connections
  readonly #newId = createUuidV7Generator(Date.now)
  readonly #prefix: string

  constructor(prefix: string, connections: Connections) {
    this.#connections = connections
    this.#prefix = prefix
  }

  async enqueue(tx: OwnTx<SqliteTx>, messages: readonly MessageDraft[]): Promise<void> {
    const numbered = messages.map((draft) => ({ id: this.#newId(), draft }))
    await enqueueMessages(tx, this.#prefix, numbered)
  }

  /** SQLite has no way to ask; only what has no `query` at all is known to be none. */
  async requireTransaction(tx: OwnTx<SqliteTx>): Promise<void> {
    if (typeof tx?.query === 'function') return
    throw new HookonceError(
      'TRANSACTION_EXPECTED',
      'A transaction was expected: something with query(sql, params), inside a transaction of the same file',
    )
  }

  async claim(claim: MessageClaim): Promise<readonly ClaimedMessage[]> {
    if (!(await this.#connections.read((reader) => hasDueMessages(reader, claim)))) return []
    return this.#connections.write('durably', (connection, breaks) =>
      claimMessages(connection, breaks, claim),
    )
  }

  async settle(settlements: readonly MessageSettlement[]): Promise<ReadonlySet<string>> {
    if (settlements.length === 0) return new Set()
    return this.#connections.write('durably', (connection, breaks) =>
      settleMessages(connection, breaks, settlements),
    )
  }

  nextDueInMs(destinations: readonly string[], withinMs: number): Promise<number | undefined> {
    return this.#connections.read((reader) =>
      findNextMessageDueInMs(reader, destinations, withinMs),
    )
  }

  pauseDestination(name: string, reason: string): Promise<boolean> {
    return this.#connections.write('durably', (connection) =>
      pauseDestination(connection, name, reason),
    )
  }

  resumeDestination(name: string): Promise<boolean> {
    return this.#connections.write('durably', (connection) => resumeDestination(connection, name))
  }

  listPausedDestinations(): Promise<readonly PausedDestination[]> {
    return this.#connections.read(listPausedDestinations)
  }

  find(id: MessageId): Promise<MessageRecord | undefined> {
    return this.#connections.read((reader) => findMessage(reader, id))
  }

  list(query: MessageQuery): Promise<readonly MessageRecord[]> {
    return this.#connections.read((reader) => listMessages(reader, query))
  }

  retry(id: MessageId): Promise<boolean> {
    return this.#connections.write('durably', (connection) => retryMessage(connection, id))
  }

  confirm(id: MessageId): Promise<boolean> {
    return this.#connections.write('durably', (connection) => confirmMessage(connection, id))
  }

  discard(id: MessageId): Promise<boolean> {
    return this.#connections.write('durably', (connection) => discardMessage(connection, id))
  }
}
