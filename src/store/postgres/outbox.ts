import type { MessageDraft } from '../../model/message.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type { OutboxStore } from '../outbox-contract.ts'
import type { PostgresTx } from './driver.ts'
import { ENQUEUE_MESSAGES, enqueueMessages } from './sql/enqueue-messages.ts'

/** The part of the store that keeps messages. */
export class PostgresOutbox implements OutboxStore<PostgresTx> {
  // Nothing is decided by the time in a message's id, so this process's clock will do.
  readonly #newId = createUuidV7Generator(Date.now)
  readonly #enqueueText: string

  constructor(schema: string) {
    this.#enqueueText = ENQUEUE_MESSAGES.replaceAll('{schema}', `"${schema}"`)
  }

  async enqueueMessages(tx: PostgresTx, messages: readonly MessageDraft[]): Promise<void> {
    if (messages.length === 0) return
    const numbered = messages.map((draft) => ({ id: this.#newId(), draft }))
    await enqueueMessages(tx, this.#enqueueText, numbered)
  }
}
