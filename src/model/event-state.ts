/**
 * The states of an event and the permitted transitions, as data.
 *
 * `test/store/contract/transitions.ts` walks them on every store: each of these is taken by an operation of the store,
 * and no other. The SQL checks of the stores and the diagram in `docs/lifecycle.md` are compared with this table by
 * `test/model/event-state.test.ts`.
 *
 * @module
 */

/** Every state of an event. `docs/lifecycle.md` says what takes it from one to the next. */
export const EVENT_STATES = [
  'ready',
  'running',
  'done',
  'dead',
  'skipped',
  'discarded',
  'waiting',
  'unhandled',
  'conflict',
  'quarantined',
] as const

/** Where an event is. */
export type EventState = (typeof EVENT_STATES)[number]

/** States in which an event sits in the queue where the claim's partial index does not see it. */
export const PARKED_STATES = ['waiting', 'unhandled', 'conflict', 'quarantined'] as const
/** Why an event waits in the queue without being claimed. */
export type ParkedState = (typeof PARKED_STATES)[number]

/** States that are written as an outcome. */
export const SETTLED_STATES = ['done', 'dead', 'skipped', 'discarded'] as const
/** How an event came to rest. */
export type SettledState = (typeof SETTLED_STATES)[number]

/** From a state, the states an event may go to, each with what takes it there. */
export const TRANSITIONS: Readonly<
  Record<EventState, Readonly<Partial<Record<EventState, string>>>>
> = {
  ready: {
    running: 'a worker claims it',
    unhandled: 'no handler matches its type',
    waiting: 'a worker sorts it into its lane, and it is not next; or its lane is paused',
    dead: 'its last attempt failed with its transaction gone: that is written afterwards; or it has no place in a lane',
    discarded: 'an operator discards it',
  },
  running: {
    done: 'the handlers returned and the transaction committed',
    skipped: 'a handler returned skip(reason)',
    ready: 'a handler threw, its worker crashed or gave it back: it runs again later',
    dead: 'a handler threw permanent(reason), the last attempt failed, or it crashed its worker too often',
    unhandled: 'no handler matches its type',
    waiting:
      'it failed, and another event of its lane goes first (order latest), or its lane is paused',
  },
  done: { ready: 'an operator replays it' },
  skipped: { ready: 'an operator replays it' },
  discarded: { ready: 'an operator replays it' },
  dead: {
    ready: 'an operator retries it, or the sender delivers it again',
    discarded:
      'an operator discards or forgets it, its deadDays have passed, or its bytes are erased',
  },
  waiting: {
    ready: 'it is next in its lane',
    dead: 'what it waited for did not come in time, and its order says dead',
    discarded: 'an operator discards it',
  },
  unhandled: {
    ready: 'a handler for its type appears',
    discarded: 'an operator discards it',
  },
  conflict: { ready: 'an operator releases it', discarded: 'an operator discards it' },
  quarantined: { ready: 'an operator releases it', discarded: 'an operator discards it' },
}
