/**
 * Takes in an event that its sender's own API gave: it was not delivered, so nothing signs it.
 *
 * It goes the way of a delivery from `identify` on, under the key that its delivery has. What its bytes were is not
 * known, since an API writes them anew: so the delivery that comes after all is a duplicate, and no conflict.
 *
 * @module
 */

import type { Delivery } from '../model/delivery.ts'
import { UNKNOWN_CONTENT } from '../model/digest.ts'
import type { EventDraft } from '../model/event.ts'
import type { Source } from '../model/source.ts'
import type { RecordedDraft } from './batcher.ts'
import { draftEvents } from './identity.ts'
import { keepWithin } from './limits.ts'
import { notice } from './receive.ts'
import type { ReceiveContext } from './receive.ts'

/** What is kept as `verifiedBy`. */
const VERIFIED_BY = 'backfill'

/** @throws StoreUnavailableError, CommitUnknownError, StoreRejectedError */
export async function takeIn(
  context: ReceiveContext,
  sourceName: string,
  delivery: Delivery,
): Promise<readonly RecordedDraft[]> {
  const drafts = draftGiven(context, sourceName, delivery)
  const { epoch } = context.committedKeys
  const recorded = await context.batcher.record(drafts)
  notice(context, drafts, recorded, epoch)
  return recorded
}

/** What would be stored of it, where it is not here. */
export function draftGiven(
  context: ReceiveContext,
  sourceName: string,
  delivery: Delivery,
): readonly EventDraft[] {
  const source = context.sources.get(sourceName) as Source
  const verdict = { ok: true, secret: VERIFIED_BY } as const
  const events = keepWithin(context.options, source.identify(delivery, verdict, context.options))
  const drafts = draftEvents({ sourceName, source, delivery, verdict }, events)
  return context.committedKeys.quarantineStale(drafts).map(asUnsigned)
}

/** A dead event is for an operator to retry, and not for what lists it once more. */
function asUnsigned(draft: EventDraft): EventDraft {
  if (draft.key === undefined) return draft
  return {
    ...draft,
    fingerprint: UNKNOWN_CONTENT,
    contentHash: undefined,
    sameBytes: 'run',
    redelivery: 'count',
  }
}
