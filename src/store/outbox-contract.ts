/**
 * What a store must do for messages: what handlers write to be sent, and what the relay needs to send it.
 * A part of `contract.ts`, held by `test/contract/outbox.ts`.
 *
 * @module
 */

import type { MessageDraft } from '../model/message.ts'

export interface OutboxStore<Tx> {
  /**
   * Writes the messages in a transaction that the caller holds: a lent one, or the user's own. A message
   * whose destination and key are in the store already, or twice in the list, writes nothing.
   */
  enqueueMessages(tx: Tx, messages: readonly MessageDraft[]): Promise<void>
}
