/**
 * What one run of a handler sends: collected while it runs, and written through its transaction when it
 * has returned, all in one statement.
 *
 * A message that cannot be sent throws where the handler calls `send`, not as a promise that the
 * handler may not await.
 *
 * @module
 */

import type { MessageDraft, SendOptions } from '../model/message.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import { deriveIdempotencyKey } from '../model/idempotency-key.ts'

/** What a handler needs of the outbox. */
export interface HandlerOutbox<Tx> {
  /** @throws HookonceError when it cannot be sent */
  draft(input: {
    readonly destination: string
    readonly payload: unknown
    readonly options: SendOptions
    readonly defaultKey: () => string
    readonly eventId: string
  }): MessageDraft
  enqueue(tx: Tx, drafts: readonly MessageDraft[]): Promise<void>
  /** Messages that were enqueued are committed, or may be: they can leave now. */
  onCommitted(): void
}

export class Outgoing<Tx> {
  readonly #outbox: HandlerOutbox<Tx>
  readonly #event: ClaimedEvent
  readonly #handler: string
  readonly #drafts: MessageDraft[] = []
  readonly #sent = new Map<string, number>()

  constructor(outbox: HandlerOutbox<Tx>, event: ClaimedEvent, handler: string) {
    this.#outbox = outbox
    this.#event = event
    this.#handler = handler
  }

  /** Not async, so that what it throws is thrown by the handler's own line. */
  send(destination: string, payload: unknown, options: SendOptions = {}): Promise<string> {
    const { eventId } = this.#event
    const defaultKey = (): string => this.#nextKey(destination)
    const draft = this.#outbox.draft({ destination, payload, options, defaultKey, eventId })
    this.#drafts.push(draft)
    return Promise.resolve(draft.key)
  }

  async write(tx: Tx): Promise<void> {
    if (this.#drafts.length > 0) await this.#outbox.enqueue(tx, this.#drafts)
  }

  /**
   * By its position among the handler's messages to this destination: one more to another destination
   * moves no key here. The name cannot be one that a handler gives to `idempotencyKey`.
   */
  #nextKey(destination: string): string {
    const position = (this.#sent.get(destination) ?? 0) + 1
    this.#sent.set(destination, position)
    return deriveIdempotencyKey({
      keyHash: this.#event.keyHash,
      handler: this.#handler,
      name: `\u0000send\u0000${destination}\u0000${position}`,
    })
  }
}
