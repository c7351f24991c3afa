/**
 * Steps that tests of the outbox take again and again, named after what they do.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { highestId, lowestId } from '../../../model/id-range.ts'
import type { MessageState } from '../../../model/message-state.ts'
import type { MessageDraft, MessageFailure, MessageRecord } from '../../../model/message.ts'
import type { ClaimedMessage, MessageSettlement } from '../../../store/contract/messages.ts'
import { aMessageDraft, anEventDraft } from './builders.ts'
import { claim, done, recordOne } from './store-steps.ts'
import type { AnyStore } from '../store-case.ts'

let events = 0

/** Writes messages in the transaction of an event that is then done. */
export async function enqueue(
  store: AnyStore,
  ...drafts: readonly Partial<MessageDraft>[]
): Promise<void> {
  events += 1
  await recordOne(store, anEventDraft({ key: `evt_outbox_${events}` }))
  const group = await claim(store)
  await store.messages.enqueue(group.lend().tx, drafts.map(aMessageDraft))
  await group.settle(group.events.map(done))
  assert.deepEqual(await group.commit(), { status: 'committed' })
}

/** Claims what is due for `receipts`. */
export async function claimMessages(
  store: AnyStore,
  { limit = 10, leaseMs = 60_000, destination = 'receipts' } = {},
): Promise<readonly ClaimedMessage[]> {
  return store.messages.claim({ wanted: [{ destination, limit }], leaseMs })
}

/** The messages in a state, newest first. */
export async function listMessages(
  store: AnyStore,
  { state, destination, limit }: ListedMessages,
): Promise<readonly MessageRecord[]> {
  const looked = await store.messages.walk({
    place: 'messages',
    below: highestId,
    from: lowestId,
    limit: 1_000,
    states: [state],
    destination,
  })
  const ids = looked.filter(({ fits }) => fits).map(({ id }) => id)
  return store.messages.read(ids.slice(0, limit))
}

interface ListedMessages {
  readonly state: MessageState
  readonly destination?: string | undefined
  readonly limit: number
}

export async function claimOne(
  store: AnyStore,
  options: { leaseMs?: number } = {},
): Promise<ClaimedMessage> {
  const [message, ...others] = await claimMessages(store, options)
  assert(message, 'a message should have been due')
  assert.equal(others.length, 0)
  return message
}

export const A_FAILURE: MessageFailure = {
  reason: 'refused',
  message: 'answered 500',
  durationMs: 7,
  response: { status: 500, head: 'x: 1', body: Buffer.from([0, 255, 10]) },
}

export function sent({ id, token }: ClaimedMessage): MessageSettlement {
  return {
    id,
    token,
    state: 'sent',
    response: { status: 201, head: 'content-type: text/plain', body: Buffer.from('thanks') },
  }
}

export function again(
  { id, token }: ClaimedMessage,
  settlement: Partial<Extract<MessageSettlement, { state: 'ready' }>> = {},
): MessageSettlement {
  return {
    id,
    token,
    state: 'ready',
    retryInMs: 0,
    doubt: 'keep',
    failure: A_FAILURE,
    answer: undefined,
    sameAnswers: 0,
    ...settlement,
  }
}

export function deadMessage({ id, token }: ClaimedMessage, blocksLane = true): MessageSettlement {
  const reason = 'gave up'
  return { id, token, state: 'dead', reason, doubt: 'keep', failure: A_FAILURE, blocksLane }
}

export function unknownMessage({ id, token }: ClaimedMessage): MessageSettlement {
  const reason = 'who knows'
  return {
    id,
    token,
    state: 'unknown',
    reason,
    doubt: 'keep',
    failure: undefined,
    blocksLane: true,
  }
}

/** An event that is done, with a message to a destination of its own. */
export async function sendFrom(store: AnyStore, key: string) {
  const { eventId } = await recordOne(store, anEventDraft({ key }))
  const group = await claim(store)
  await store.messages.enqueue(group.lend().tx, [aMessageDraft({ key, eventId, destination: key })])
  await group.settle(group.events.map(done))
  assert.deepEqual(await group.commit(), { status: 'committed' })
  return { eventId, key }
}

export async function settleMessage(
  store: AnyStore,
  destination: string,
  becomes: (message: ClaimedMessage) => MessageSettlement,
) {
  const [message] = await claimMessages(store, { destination })
  assert(message)
  await store.messages.settle([becomes(message)])
}
