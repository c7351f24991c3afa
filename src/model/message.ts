/** Ours, minted when the message is written: a UUIDv7 in lower case. Receivers know a message by its key. */
export type MessageId = string

/** A message before it is stored. */
export interface MessageDraft {
  /** The name of a configured destination. */
  readonly destination: string
  /**
   * The idempotency key: with the destination, what the message is known by. A second draft with the
   * same two is the same message, and writes nothing.
   */
  readonly key: string
  /** The bytes that are sent, every time. */
  readonly body: Uint8Array
  readonly contentType: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** How long it waits before it is first sent, from when it is written, by the database's clock. */
  readonly delayMs: number
  /** The event whose handler sent it, if one did. */
  readonly eventId: string | undefined
}
