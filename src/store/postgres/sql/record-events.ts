/**
 * Stores a batch of drafts: what is plainly new by one call, the rest by what is known of it.
 *
 * @module
 */

import type { EventDraft, EventId, Recorded } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'
import { isOutsideWindow } from '../../shared/numbered-draft.ts'
import type { NumberedDraft } from '../../shared/numbered-draft.ts'
import { findContentHash } from './draft-values.ts'
import { recordKnown } from './record-known.ts'
import { recordNew } from './record-new.ts'

/**
 * In a transaction of the caller.
 *
 * @throws KeyVanished when a key was dropped while we looked: nothing is lost by trying again.
 */
export async function recordEvents(
  connection: Connection,
  drafts: readonly NumberedDraft[],
): Promise<readonly Recorded[]> {
  const apart = drafts.filter(({ draft }) => isOutsideWindow(draft))
  if (apart.length === 0) return recordInOrder(connection, drafts, 0)
  const others = drafts.filter(({ draft }) => !isOutsideWindow(draft))
  const answers = await recordInOrder(connection, [...others, ...apart], apart.length)
  const places = new Map([...others, ...apart].map(({ id }, at) => [id, at]))
  return drafts.map(({ id }) => answers[places.get(id) as number] as Recorded)
}

/** The last of the drafts, so many of them, must not have their keys and are only looked at. */
async function recordInOrder(
  connection: Connection,
  drafts: readonly NumberedDraft[],
  apart: number,
): Promise<readonly Recorded[]> {
  const first = drafts.length - apart
  const taken = first === 0 ? [] : await recordNew(connection, drafts.slice(0, first))
  const looked = drafts
    .slice(first)
    .map((draft, index) => ({ ...draft, at: first + index, hasKey: false, hasContent: false }))
  const rest = [...taken, ...looked]
  const answers = answersOf(drafts)
  if (rest.length === 0) return answers
  const wroteNothing =
    rest.length === drafts.length && rest.every(({ hasKey, hasContent }) => !hasKey && !hasContent)
  const known = await recordKnown(connection, rest, { wroteNothing })
  for (const [at, answer] of known) answers[at] = answer
  return answers
}

/** What is answered for drafts that are new. */
export function answersOf(drafts: readonly NumberedDraft[]): Recorded[] {
  return drafts.map(({ id, draft }) => asNew(id, draft))
}

/**
 * Whether the new ones of a batch may be committed before the others are looked at. Not where content
 * is watched: there a draft that is not new may have claimed a key that has to be moved. And not where
 * one must not have its key.
 */
export function isSeparable(drafts: readonly NumberedDraft[]): boolean {
  return drafts.every(
    ({ draft }) => findContentHash(draft) === undefined && !isOutsideWindow(draft),
  )
}

function asNew(eventId: EventId, draft: EventDraft): Recorded {
  return draft.quarantine === undefined
    ? { status: 'accepted', eventId }
    : { status: 'quarantined', eventId, reason: draft.quarantine }
}
