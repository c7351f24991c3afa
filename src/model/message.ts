import type { MessageOutcomeState, MessageState } from './message-state.ts'

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
  /** The lane it is sent in; `undefined` for one that waits for no other. */
  readonly lane?: MessageLane | undefined
}

/** Messages to one destination that leave one after the other. */
export interface MessageLane {
  /** Follows from the destination and the name. */
  readonly id: string
  /** What the sender of the message calls it. */
  readonly name: string
}

/** What can be said of a message when it is sent. */
export interface SendOptions {
  /**
   * The idempotency key, of 1 to 255 visible ASCII characters. With the destination it is what the
   * message is known by: the same key twice is one message. Left out, it follows from the event, the
   * handler and how many messages the handler has sent to the destination before.
   */
  readonly key?: string
  /**
   * How long to wait before the message is first sent.
   *
   * @defaultValue 0
   */
  readonly delayMs?: number
  /**
   * More headers. What they say is kept in the database as it is, so no secrets: those belong to the destination.
   * Left out, there are none.
   */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Of 1 to 1,000 characters, such as a customer's id. Messages of one lane to one destination leave one at a time, in
   * the order in which they were written: the next one when the one before is sent, confirmed or discarded. Left out,
   * it waits for no other.
   */
  readonly lane?: string
}

/** A message as a destination gets it. */
export interface Message {
  readonly id: MessageId
  readonly destination: string
  /** The idempotency key: the same every time this message is sent. */
  readonly key: string
  readonly body: Uint8Array
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  readonly eventId: string | undefined
  readonly createdAt: Date
  /** Which attempt this is, from 1. */
  readonly attempt: number
}

/** What a destination said: as much of it as is kept, as it came, without what is secret. */
export interface MessageResponse {
  readonly status: number
  /** The head, a header a line. */
  readonly head: string
  readonly body: Uint8Array
}

/** Why an attempt failed, for people and for code. */
export type MessageFailureReason =
  /** Nothing was connected to: refused, unresolved, a certificate that does not hold. */
  | 'unreachable'
  /** The address is not one that may be connected to. */
  | 'blocked'
  | 'timeout'
  /** The connection broke before there was an answer. */
  | 'interrupted'
  /** An answer that is not a success. */
  | 'refused'
  /** A custom destination threw. */
  | 'error'
  /** What a check said, or that it failed. */
  | 'check'
  /** What is stored of it cannot be decrypted. */
  | 'unreadable'

/** One attempt that failed, and what the destination said, if it said anything. */
export interface MessageFailure {
  readonly reason: MessageFailureReason
  readonly message: string
  readonly durationMs: number
  readonly response: MessageResponse | undefined
}

/** A failed attempt as it is kept. */
export interface RecordedMessageFailure extends MessageFailure {
  readonly attempt: number
  /** When it was written that it failed, by the database's clock. */
  readonly failedAt: Date
}

/** A message with all that is known of it, for an operator. */
export interface MessageRecord {
  readonly id: MessageId
  readonly destination: string
  readonly key: string
  readonly state: MessageState
  /** Why it is dead or unknown. */
  readonly reason: string | undefined
  readonly attempts: number
  /** When it is due, or when the lease of the relay that sends it ends; nothing once it has an outcome. */
  readonly sendAt: Date | undefined
  /** Since when it may have arrived without our knowing. */
  readonly uncertainSince: Date | undefined
  readonly body: Uint8Array
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  readonly eventId: string | undefined
  readonly createdAt: Date
  /** The lane it was sent in. */
  readonly lane: string | undefined
  /** The message of its lane that it waits for. */
  readonly blockedBy: MessageId | undefined
  /** How many messages wait behind it in its lane until a person decides, counted up to 1,000. */
  readonly holdsUp: number
  readonly outcome:
    | {
        readonly state: MessageOutcomeState
        readonly settledAt: Date
        readonly response: MessageResponse | undefined
      }
    | undefined
  readonly failures: readonly RecordedMessageFailure[]
}

/** What a list says of a message, without its bytes. */
export type MessageSummary = Pick<
  MessageRecord,
  'id' | 'destination' | 'key' | 'state' | 'reason' | 'attempts' | 'eventId' | 'createdAt'
>
