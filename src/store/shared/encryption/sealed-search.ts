/**
 * The part of a store that finds events, where what is looked for is encrypted.
 *
 * A database can compare what is in the clear: ids, sources, types, keys, states, times. What is sealed is opened and
 * compared here, of the same events and no more (`WalkRequest.limit`).
 *
 * @module
 */

import type { DeliveryHeaders } from '../../../model/delivery.ts'
import type { EventBeside } from '../../../model/event-story.ts'
import type { EventSummary } from '../../../model/event-summary.ts'
import type { EventId } from '../../../model/event.ts'
import type {
  EventSearchStore,
  LookedEvent,
  SearchedBody,
  WalkRequest,
} from '../../contract/event-search.ts'
import { cutText, lowerAscii } from '../cut-text.ts'
import type { Cipher } from './cipher.ts'
import { openFailure, openSummary, showJson, showOutcome } from './open-events.ts'
import { places } from './places.ts'
import { attempt, openContent, showText } from './seal-content.ts'
import { placesOf } from './seal-drafts.ts'
import { openMessageRecord } from './sealed-messages.ts'

/** What the failed attempts of an event say, and why its latest run ended. */
export interface FailureTexts {
  readonly eventId: EventId
  /** Why its latest run ended, or an attempt failed: in a word, or sealed. */
  readonly reason: string | undefined
  readonly message: string | undefined
  readonly cause: string | undefined
}

/** What an engine reads beside the contract. */
export interface SealedSearchParts {
  readonly search: EventSearchStore
  readonly readFailureTexts: (ids: readonly EventId[]) => Promise<readonly FailureTexts[]>
}

/** So many events' texts are in memory at once. */
const TEXTS_TOGETHER = 20
/** As much is read at once where bodies are compared. */
const BODY_BYTES_TOGETHER = 1024 * 1024
/** How much longer what is sealed may be than what is not. */
const SEALED_BYTES_MAX = 128

export function sealSearch(cipher: Cipher, parts: SealedSearchParts): EventSearchStore {
  const { search } = parts
  const readBodies = async (
    ids: readonly EventId[],
    bytesMax: number,
  ): Promise<readonly SearchedBody[]> =>
    (await openBodies(cipher, search, ids, bytesMax)).map(({ isReadable: _, ...body }) => body)
  return {
    ...search,
    readBodies,
    walk: (request) =>
      walkSealed(cipher, parts, request.text, (text) => search.walk({ ...request, text })),
    walkKey: (key, request) =>
      walkSealed(cipher, parts, request.text, (text) => search.walkKey(key, { ...request, text })),
    summarize: async (ids) => {
      const summaries = await search.summarize(ids)
      return summaries.map((summary) => openSummary(cipher, summary))
    },
    findStory: async (id) => {
      const story = await search.findStory(id)
      return (
        story && {
          ...story,
          outcomes: story.outcomes.map((outcome) => showOutcome(cipher, id, outcome)),
          failures: story.failures.map((failure) => openFailure(cipher, id, failure)),
          steps: story.steps.map((step) => {
            const result = showJson(cipher, step.result, places.stepResult(id, step.name))
            return { ...step, result }
          }),
          messages: story.messages.map((message) => openMessageRecord(cipher, message)),
          beside: await compareBodies(cipher, search, id, story.beside),
        }
      )
    },
    listMessagesByKey: async (key) => {
      const messages = await search.listMessagesByKey(key)
      return messages.map((message) => openMessageRecord(cipher, message))
    },
    walkFailures: async (request) => {
      const failures = await search.walkFailures(request)
      return failures.map((failure) => {
        const { message } = failure
        return {
          ...failure,
          message: cutText(showFailure(cipher, failure.position.eventId, message)),
        }
      })
    },
  }
}

/** Of the last attempt, or of the outcome where there was none. */
function showFailure(cipher: Cipher, id: EventId, text: string): string {
  const asReason = attempt(() => cipher.openText(text, places.outcome(id, 'reason')))
  if ('opened' in asReason) return asReason.opened
  return showText(cipher, text, places.attempt(id, 'message'))
}

async function walkSealed(
  cipher: Cipher,
  { readFailureTexts }: SealedSearchParts,
  text: WalkRequest['text'],
  walk: (text: string | undefined) => Promise<readonly LookedEvent[]>,
): Promise<readonly LookedEvent[]> {
  // Without the text: in the database it is compared with what is sealed.
  const looked = (await walk(undefined)).map(({ id, summary }) => ({
    id,
    summary: summary && openSummary(cipher, summary),
  }))
  if (text === undefined || text === '') return looked
  const wanted = lowerAscii(text)
  const ids = looked.filter(({ summary }) => summary !== undefined).map(({ id }) => id)
  const found = new Set<EventId>()
  for (let at = 0; at < ids.length; at += TEXTS_TOGETHER)
    for (const texts of await readFailureTexts(ids.slice(at, at + TEXTS_TOGETHER)))
      if (hasText(cipher, texts, wanted)) found.add(texts.eventId)
  return looked.map(({ id, summary }) => ({
    id,
    summary: found.has(id) || isParkedFor(summary, wanted) ? summary : undefined,
  }))
}

function hasText(cipher: Cipher, texts: FailureTexts, wanted: string): boolean {
  const { eventId, reason, message, cause } = texts
  return [
    showText(cipher, reason, places.outcome(eventId, 'reason')),
    showText(cipher, message, places.attempt(eventId, 'message')),
    showText(cipher, cause, places.attempt(eventId, 'cause')),
  ].some((text) => text !== undefined && lowerAscii(text).includes(wanted))
}

/** Why an event is parked is stored in the clear, and is in its summary. */
function isParkedFor(summary: EventSummary | undefined, wanted: string): boolean {
  return summary?.reason !== undefined && lowerAscii(summary.reason).includes(wanted)
}

interface OpenedBody extends SearchedBody {
  readonly isReadable: boolean
}

/** One that cannot be read is empty: it has no value that is looked for. */
async function openBodies(
  cipher: Cipher,
  search: EventSearchStore,
  ids: readonly EventId[],
  bytesMax: number,
): Promise<readonly OpenedBody[]> {
  const bodies = await search.readBodies(ids, bytesMax)
  return bodies.map(({ id, source, ...content }) => {
    const found = attempt(() => openContent(cipher, content, placesOf(id, source)))
    const nothing: { body: Uint8Array; headers: DeliveryHeaders } = {
      body: new Uint8Array(),
      headers: {},
    }
    const isReadable = 'opened' in found
    return { id, source, ...(isReadable ? found.opened : nothing), isReadable }
  })
}

/** The same bytes are never the same once they are sealed. Only those of nearly one size are opened. */
async function compareBodies(
  cipher: Cipher,
  search: EventSearchStore,
  id: EventId,
  beside: readonly EventBeside[],
): Promise<readonly EventBeside[]> {
  if (beside.length === 0) return beside
  const [own] = await openBodies(cipher, search, [id], BODY_BYTES_TOGETHER)
  if (own?.isReadable !== true) return beside
  const isNear = ({ bodyBytes }: EventSummary): boolean =>
    Math.abs(bodyBytes - own.body.length) <= SEALED_BYTES_MAX
  let left = beside.filter(({ event }) => isNear(event)).map(({ event }) => event.id)
  const same = new Set<EventId>()
  while (left.length > 0) {
    const bodies = await openBodies(cipher, search, left, BODY_BYTES_TOGETHER)
    if (bodies.length === 0) break
    for (const { id: other, body, isReadable } of bodies)
      if (isReadable && Buffer.compare(body, own.body) === 0) same.add(other)
    const read = new Set(bodies.map((each) => each.id))
    left = left.filter((each) => !read.has(each))
  }
  return beside.map((each) => ({ ...each, hasSameBody: same.has(each.event.id) }))
}
