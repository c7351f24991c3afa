import type { MessageDraft } from '../../model/message.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type { OutboxStore } from '../outbox-contract.ts'
import type { SqliteTx } from './lent-tx.ts'
import { enqueueMessages } from './sql/enqueue-messages.ts'

/** The part of the store that keeps messages. */
export class SqliteOutbox implements OutboxStore<SqliteTx> {
  readonly #newId = createUuidV7Generator(Date.now)
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  async enqueueMessages(tx: SqliteTx, messages: readonly MessageDraft[]): Promise<void> {
    const numbered = messages.map((draft) => ({ id: this.#newId(), draft }))
    await enqueueMessages(tx, this.#prefix, numbered)
  }
}
