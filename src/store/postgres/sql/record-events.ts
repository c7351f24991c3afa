/**
 * Stores a batch of drafts: what is plainly new by one call, the rest by what is known of it.
 *
 * @module
 */

import type { EventDraft, EventId, Recorded } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'
import type { NumberedDraft } from '../../numbered-draft.ts'
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
  const rest = await recordNew(connection, drafts)
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
 * is watched: there a draft that is not new may have claimed a key that has to be moved.
 */
export function isSeparable(drafts: readonly NumberedDraft[]): boolean {
  return drafts.every(({ draft }) => findContentHash(draft) === undefined)
}

function asNew(eventId: EventId, draft: EventDraft): Recorded {
  return draft.quarantine === undefined
    ? { status: 'accepted', eventId }
    : { status: 'quarantined', eventId, reason: draft.quarantine }
}
