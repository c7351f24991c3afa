import { HookonceError } from '../errors.ts'
import { digestBytes } from '../model/digest.ts'
import type { Digest } from '../model/digest.ts'
import type { EventId } from '../model/event.ts'
import { deriveIdempotencyKey } from '../model/idempotency-key.ts'
import type { MessageDraft, SendOptions } from '../model/message.ts'
import type { AnySends, SendMap } from '../model/sends.ts'
import type { OwnTx } from '../store/contract/transaction.ts'

/** What the work of `inbox.once` gets. */
export interface OnceContext<Sends extends SendMap = AnySends> {
  /** The event that stands for this work, as operators see it. */
  readonly eventId: EventId
  /**
   * The idempotency key for a call to the outside: the same whenever the work runs for this key, also after a
   * transaction that was rolled back. Name the calls, if there are several.
   */
  idempotencyKey(name?: string): string
  /** Writes a message in your transaction: it is sent if that commits. Returns its idempotency key. */
  send<Name extends keyof Sends & string>(
    destination: Name,
    payload: Sends[Name],
    options?: SendOptions,
  ): Promise<string>
}

/** What the work needs of the outbox. */
export interface OnceOutbox<Sql> {
  draft(input: {
    readonly destination: string
    readonly payload: unknown
    readonly options: SendOptions
    readonly defaultKey: () => string
    readonly eventId: EventId
  }): MessageDraft
  enqueue(tx: Sql | OwnTx, drafts: readonly MessageDraft[]): Promise<void>
}

/** Idempotency keys follow from the key of the event and this, as a handler's follow from its name. */
const HANDLER = '\u0000once'

/** One run of the work: its messages are collected, and written when it has returned. */
export class OnceRun<Sql> {
  readonly context: OnceContext
  readonly #outbox: OnceOutbox<Sql>
  readonly #eventId: EventId
  readonly #keyHash: string
  readonly #drafts: MessageDraft[] = []
  readonly #sent = new Map<string, number>()
  #isOver = false

  constructor(
    outbox: OnceOutbox<Sql>,
    event: { readonly eventId: EventId; readonly keyHash: Digest },
  ) {
    this.#outbox = outbox
    this.#eventId = event.eventId
    this.#keyHash = digestBytes(event.keyHash).toString('hex')
    this.context = Object.freeze({
      eventId: event.eventId,
      idempotencyKey: (name = '') => this.#keyFor(name),
      send: (destination: string, payload: unknown, options: SendOptions = {}) =>
        this.#send(destination, payload, options),
    })
  }

  /** Nothing can be sent afterwards. */
  async writeMessages(tx: Sql | OwnTx): Promise<void> {
    this.#isOver = true
    if (this.#drafts.length > 0) await this.#outbox.enqueue(tx, this.#drafts)
  }

  /** Not async, so that what it throws is thrown by the caller's own line. */
  #send(destination: string, payload: unknown, options: SendOptions): Promise<string> {
    if (this.#isOver)
      throw new HookonceError(
        'TX_REVOKED',
        'The work of inbox.once has returned, and sends nothing more. Is an await missing?',
      )
    const defaultKey = (): string => this.#nextKey(destination)
    const eventId = this.#eventId
    const draft = this.#outbox.draft({ destination, payload, options, defaultKey, eventId })
    this.#drafts.push(draft)
    return Promise.resolve(draft.key)
  }

  /** By its position among the messages to this destination, as in a handler. */
  #nextKey(destination: string): string {
    const position = (this.#sent.get(destination) ?? 0) + 1
    this.#sent.set(destination, position)
    return this.#keyFor(`\u0000send\u0000${destination}\u0000${position}`)
  }

  #keyFor(name: string): string {
    return deriveIdempotencyKey({ keyHash: this.#keyHash, handler: HANDLER, name })
  }
}
