/**
 * The states of a message and the permitted transitions, as data.
 *
 * `test/store/contract/message-transitions.ts` walks them on every store: each of these is taken by an operation of
 * the store, and no other. The SQL checks of the stores and the table in `docs/lifecycle.md` are compared with it by
 * `test/model/message-state.test.ts`.
 *
 * @module
 */

/** Every state of a message. `docs/lifecycle.md` says what takes it from one to the next. */
export const MESSAGE_STATES = ['ready', 'sending', 'sent', 'dead', 'unknown', 'discarded'] as const

/** Where a message is. */
export type MessageState = (typeof MESSAGE_STATES)[number]

/** How a message came to rest. The tables of the stores are compared with it. */
export type MessageOutcomeState = 'sent' | 'dead' | 'unknown' | 'discarded'

/** From a state, the states a message may go to, each with what takes it there. */
export const MESSAGE_TRANSITIONS: Readonly<
  Record<MessageState, Readonly<Partial<Record<MessageState, string>>>>
> = {
  ready: {
    sending: 'a relay claims it',
    discarded: 'an operator discards it',
  },
  sending: {
    sent: 'the destination took it, or a check found that it had',
    ready: 'it was not taken, or its relay died or gave it back: it is sent again later',
    dead: 'the destination refused it for good, or the last attempt failed',
    unknown: 'it may have arrived, and sending it again could make it happen twice',
  },
  sent: {},
  dead: {
    ready: 'an operator retries it',
    discarded: 'an operator discards it',
  },
  unknown: {
    ready: 'an operator retries it, knowing that it may happen twice',
    sent: 'an operator has found that it arrived',
    discarded: 'an operator discards it',
  },
  discarded: {},
}
