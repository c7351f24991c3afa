/** As `transitions.ts`, for messages: into every state, and from there through every operation. */

import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { MESSAGE_TRANSITIONS } from '../../../src/model/message-state.ts'
import type { MessageState } from '../../../src/model/message-state.ts'
import type { ClaimedMessage, MessageSettlement } from '../../../src/store/contract/messages.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import {
  again,
  claimMessages,
  deadMessage,
  enqueue,
  listMessages,
  sent,
  unknownMessage,
} from '../../support/outbox-steps.ts'
import { NO_ORDER } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

/** What every store must do with the states of a message. */
export function messageTransitionsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: transitions of a message`, () => {
    test('it goes every way that the table has, and no other', { timeout: 180_000 }, async () => {
      const { store } = await openStore(underTest)
      const taken = new Set<string>()

      for (const [state, walkTo] of Object.entries(WAYS)) {
        for (const [name, operate] of Object.entries(OPERATIONS)) {
          const walk = await Walk.begin(store)
          await walkTo(walk)
          expect(await walk.state(), name).toBe(state)
          await operate(walk)
          const to = await walk.state()
          if (to !== state) taken.add(`${state} to ${to}`)
        }
      }

      expect([...taken].sort()).toEqual(
        Object.entries(MESSAGE_TRANSITIONS)
          .flatMap(([from, targets]) => Object.keys(targets).map((to) => `${from} to ${to}`))
          .sort(),
      )
    })
  })
}

let walks = 0

/** One message, which has its destination for itself. */
class Walk {
  readonly store: Store<QueryTx>
  readonly destination: string
  readonly id: string
  claimed: ClaimedMessage | undefined

  private constructor(store: Store<QueryTx>, destination: string, id: string) {
    this.store = store
    this.destination = destination
    this.id = id
  }

  static async begin(store: Store<QueryTx>): Promise<Walk> {
    walks += 1
    const destination = `walk-${walks}`
    await enqueue(store, { destination, key: `key-${walks}` })
    const [message] = await listMessages(store, { state: 'ready', destination, limit: 1 })
    assert(message)
    return new Walk(store, destination, message.id)
  }

  async state(): Promise<MessageState | undefined> {
    return (await this.store.messages.find(this.id))?.state
  }

  async claim(): Promise<void> {
    const [claimed] = await claimMessages(this.store, { destination: this.destination })
    this.claimed ??= claimed
  }

  /** Under the lease that it has; without one, under a lease that is not its own. */
  async settle(becomes: (message: ClaimedMessage) => MessageSettlement): Promise<void> {
    const stranger = { id: this.id, token: '0' } as ClaimedMessage
    await this.store.messages.settle([becomes(this.claimed ?? stranger)])
  }
}

function after(
  becomes: (message: ClaimedMessage) => MessageSettlement,
): (walk: Walk) => Promise<void> {
  return async (walk) => {
    await walk.claim()
    await walk.settle(becomes)
  }
}

const WAYS: Readonly<Record<MessageState, (walk: Walk) => Promise<unknown>>> = {
  ready: async () => undefined,
  sending: (walk) => walk.claim(),
  sent: after(sent),
  dead: after(deadMessage),
  unknown: after(unknownMessage),
  discarded: (walk) => walk.store.messages.decide('discardMessage', walk.id, NO_ORDER),
}

const OPERATIONS: Readonly<Record<string, (walk: Walk) => Promise<unknown>>> = {
  'a relay claims it': (walk) => walk.claim(),
  'the destination took it': (walk) => walk.settle(sent),
  'the destination did not take it': (walk) => walk.settle(again),
  'the last attempt failed': (walk) => walk.settle(deadMessage),
  'its outcome is not known': (walk) => walk.settle(unknownMessage),
  'the relay gives it back': (walk) =>
    walk.settle(({ id, token }) => ({ id, token, state: 'given-back', retryInMs: 0 })),
  'its key is sent again': ({ store, destination }) =>
    enqueue(store, { destination, key: `key-${destination.slice('walk-'.length)}` }),
  'its destination is paused': ({ store, destination }) =>
    store.messages.pauseDestination(destination, 'x'),
  'an operator retries it': ({ store, id }) => store.messages.decide('retryMessage', id, NO_ORDER),
  'an operator confirms it': ({ store, id }) =>
    store.messages.decide('confirmMessage', id, NO_ORDER),
  'an operator discards it': ({ store, id }) =>
    store.messages.decide('discardMessage', id, NO_ORDER),
}
