/**
 * What a store must do for messages: what handlers write to be sent, and what the relay needs to send it.
 * Held by `messages.ts`, `message-operators.ts` and `lent-transaction.ts` in `src/testing/store/cases/`.
 *
 * Rules for every store:
 *
 * - A message is claimed by a lease that is durable before it is handed out, since from then on it may
 *   have been sent. When the lease of a relay that has died ends, the message is due again and has been
 *   uncertain since it was claimed. The claim that takes it over is an attempt of its own, and is counted as a takeover.
 * - Each lease has a token of its own, which only grows. What a relay says of a message counts only with
 *   the token of the message's last lease.
 * - Of a lane one message is leased at a time. The others wait until it is settled, and while one that blocks its lane
 *   is dead or unknown. The next is the one that was written first. What a claim costs does not grow with how many wait.
 * - When a lease ends and when a message is due are decided by the database's clock.
 *
 * @module
 */

import type { UnreadableError } from '../../errors.ts'
import type {
  Message,
  MessageDraft,
  MessageFailure,
  MessageId,
  MessageRecord,
  MessageResponse,
} from '../../model/message.ts'
import type { MessageState } from '../../model/message-state.ts'
import type { Acted, Ordered } from './operators.ts'
import type { OwnTx } from './transaction.ts'

/** The part of a store that keeps messages. */
export interface MessageStore<Tx> {
  /**
   * Writes the messages in a transaction that the caller holds: a lent one, or the user's own. A message
   * whose destination and key are in the store already, or twice in the list, writes nothing.
   */
  enqueue(tx: Tx | OwnTx, messages: readonly MessageDraft[]): Promise<void>

  /**
   * Refuses what the user took for a transaction and is none, as far as the engine can tell.
   * @throws HookonceError with the code TRANSACTION_EXPECTED
   */
  requireTransaction(tx: Tx | OwnTx): Promise<void>

  /** Claims due messages of destinations that are not paused, oldest first, no more of each than asked for. */
  claim(request: {
    readonly wanted: readonly { readonly destination: string; readonly limit: number }[]
    readonly leaseMs: number
  }): Promise<readonly ClaimedMessage[]>

  /**
   * Says what became of claimed messages, in one transaction. Returns the tokens of those it counted for:
   * the others have been claimed anew, or settled, since.
   */
  settle(settlements: readonly MessageSettlement[]): Promise<ReadonlySet<string>>

  /**
   * Milliseconds until the earliest message of these destinations is due, of those that are due within so
   * long, or until it is worth asking again; `undefined` when neither is. Paused destinations do not count.
   */
  nextDueInMs(destinations: readonly string[], withinMs: number): Promise<number | undefined>

  /** The relay's own pause, as an operator's (`pauses.ts`) and resumed like one. `false` when it is paused already. */
  pauseDestination(name: string, reason: string): Promise<boolean>

  /** The message with all that is known of it. */
  find(id: MessageId): Promise<MessageRecord | undefined>
  /** Looks at messages in one place, newest first, and says which of them fit. */
  walk(request: MessageWalk): Promise<readonly LookedMessage[]>
  /** Those of these messages that are here, newest first. */
  read(ids: readonly MessageId[]): Promise<readonly MessageRecord[]>
  /** An operator's word on a message, by the rules of `operators.ts`. `MESSAGE_STATE` when it is not for its state. */
  decide(action: MessageAction, id: MessageId, order: Ordered): Promise<MessageDecided>
}

/**
 * - `retryMessage`: queues a dead or unknown message again, its attempts at zero and its doubt forgotten.
 * - `confirmMessage`: makes an unknown message sent.
 * - `discardMessage`: drops a message that is not sent and not on its way.
 */
export type MessageAction = 'retryMessage' | 'confirmMessage' | 'discardMessage'

export type MessageDecided =
  { readonly status: 'done' } | Extract<Acted, { readonly status: 'refused' }>

/**
 * Where to look. Each is the range of one index:
 *
 * - `messages`: all of them.
 * - `queue`: those that are to be sent, or on their way.
 * - `stopped`: those that are dead or unknown.
 */
export type MessagePlace = 'messages' | 'queue' | 'stopped'

export interface MessageWalk {
  readonly place: MessagePlace
  /** Ids below this one. */
  readonly below: MessageId
  /** Ids from this one on. */
  readonly from: MessageId
  /** How many to look at. Fewer come back only where there are no more. */
  readonly limit: number
  /** Any, where it is left out. */
  readonly states?: readonly MessageState[] | undefined
  readonly destination?: string | undefined
}

/** A message that was looked at. */
export interface LookedMessage {
  readonly id: MessageId
  readonly fits: boolean
}

export interface ClaimedMessage extends Message {
  /** Of the lease, as the store writes it. */
  readonly token: string
  /** How many of its attempts ended with their relay: it was claimed again after a lease that ended without a word. */
  readonly takeovers: number
  /** How long it has been uncertain whether it arrived, at the time of the claim; `undefined` when it is not. */
  readonly uncertainForMs: number | undefined
  /** What identifies the last answer, and how often in a row it came. */
  readonly answer: string | undefined
  readonly sameAnswers: number
  /** Why its body and headers cannot be decrypted, and are empty. Left out where they are here. */
  readonly unreadable?: UnreadableError
}

/** What became of a claimed message. */
export type MessageSettlement = {
  readonly id: MessageId
  readonly token: string
} & (
  | { readonly state: 'sent'; readonly response: MessageResponse | undefined }
  | {
      readonly state: 'dead'
      readonly reason: string
      readonly doubt: Doubt
      readonly failure: MessageFailure
      /** Whether those behind it in its lane wait for a person. */
      readonly blocksLane: boolean
    }
  | {
      readonly state: 'unknown'
      readonly reason: string
      readonly doubt: Doubt
      /** The attempt that made it so; `undefined` when it was not sent again, which is no attempt. */
      readonly failure: MessageFailure | undefined
      readonly blocksLane: boolean
    }
  | {
      readonly state: 'ready'
      readonly retryInMs: number
      readonly doubt: Doubt
      readonly failure: MessageFailure
      readonly answer: string | undefined
      readonly sameAnswers: number
    }
  /** Given back unsent: the attempt does not count. */
  | { readonly state: 'given-back'; readonly retryInMs: number }
)

/**
 * What an attempt means for the question whether the message has arrived:
 * `keep` what was known before, it has been uncertain `since-claim` at the latest, or it is `cleared`.
 */
export type Doubt = 'keep' | 'since-claim' | 'cleared'
