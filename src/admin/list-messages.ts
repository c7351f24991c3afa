/**
 * Looks for messages, page by page, and says how much was looked at: as `list-events.ts` does for events.
 *
 * @module
 */

import type { MessageState } from '../model/message-state.ts'
import type { MessageId, MessageRecord } from '../model/message.ts'
import type { MessagePlace, MessageStore } from '../store/contract/messages.ts'
import { LOOKED_MAX } from './list-events.ts'
import type { ResolvedMessageFilter, ResolvedMessageQuery } from './message-query.ts'

/** A page of messages, newest first. */
export interface MessagePage {
  readonly messages: readonly MessageRecord[]
  /** Where the next page begins; `undefined` when there is nothing more to look at. */
  readonly cursor: string | undefined
  /** How many messages were looked at: 10,000 at most. */
  readonly lookedAt: number
}

/** In one statement. On SQLite a look blocks the event loop for as long as it takes: a few milliseconds. */
const LOOK_MAX = 500
/** They have their bodies with them. */
const READ_TOGETHER = 50

type Messages = Pick<MessageStore<unknown>, 'walk' | 'read'>

export async function listMessages(
  store: Messages,
  query: ResolvedMessageQuery,
): Promise<MessagePage> {
  const messages: MessageRecord[] = []
  let lookedAt = 0
  for await (const { id, message } of walkFitting(store, query, query.limit)) {
    lookedAt += 1
    if (message !== undefined) messages.push(message)
    if (messages.length === query.limit || lookedAt === LOOKED_MAX)
      return { messages, cursor: id, lookedAt }
  }
  return { messages, cursor: undefined, lookedAt }
}

/** The ids of a page. Messages are read only where a text is looked for in them. */
export async function* walkMessageIds(
  store: Messages,
  filter: ResolvedMessageFilter,
): AsyncGenerator<readonly MessageId[], void> {
  for await (const looked of walk(store, filter, LOOK_MAX)) {
    const ids = looked.filter(({ fits }) => fits).map(({ id }) => id)
    if (filter.text === undefined) yield ids
    else yield (await readFitting(store, ids, filter)).map(({ id }) => id)
  }
}

interface Candidate {
  readonly id: MessageId
  /** Where it fits. */
  readonly message: MessageRecord | undefined
}

async function* walkFitting(
  store: Messages,
  filter: ResolvedMessageFilter,
  expected: number,
): AsyncGenerator<Candidate, void> {
  for await (const looked of walk(store, filter, Math.min(expected, LOOK_MAX)))
    for (let at = 0; at < looked.length; at += READ_TOGETHER) {
      const together = looked.slice(at, at + READ_TOGETHER)
      const ids = together.filter(({ fits }) => fits).map(({ id }) => id)
      const read = await readFitting(store, ids, filter)
      const found = new Map(read.map((message) => [message.id, message]))
      for (const { id } of together) yield { id, message: found.get(id) }
    }
}

async function* walk(store: Messages, filter: ResolvedMessageFilter, first: number) {
  const { destination, from } = filter
  const states = filter.states && [...filter.states]
  const place = placeOf(states)
  let { below } = filter
  let limit = first
  for (;;) {
    const looked = await store.walk({ place, below, from, limit, states, destination })
    yield looked
    const last = looked.at(-1)
    if (last === undefined || looked.length < limit) return
    below = last.id
    limit = LOOK_MAX
  }
}

/** With the least to look at: a handful of dead messages among a million is a handful of rows. */
function placeOf(states: readonly MessageState[] | undefined): MessagePlace {
  if (states?.every((state) => state === 'dead' || state === 'unknown') === true) return 'stopped'
  if (states?.every((state) => state === 'ready' || state === 'sending') === true) return 'queue'
  return 'messages'
}

/** A message may have gone on since it was looked at. */
async function readFitting(
  store: Messages,
  ids: readonly MessageId[],
  { states, text }: ResolvedMessageFilter,
): Promise<readonly MessageRecord[]> {
  if (ids.length === 0) return []
  const messages = await store.read(ids)
  return messages.filter(
    (message) =>
      (states?.has(message.state) ?? true) && (text === undefined || says(message, text)),
  )
}

/** Looked for here and not in the database, where it may be sealed. */
function says({ reason, failures }: MessageRecord, text: string): boolean {
  const wanted = lowerAscii(text)
  const said = [reason ?? '', ...failures.flatMap((each) => [each.reason, each.message])]
  return said.some((each) => lowerAscii(each).includes(wanted))
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
