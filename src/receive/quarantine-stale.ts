import type { EventDraft } from '../model/event.ts'
import type { CommittedKeys } from './committed-keys.ts'

/**
 * Of a time of which keys were pruned it cannot be told what is new: an event of that time may have run, and is kept
 * for a person. One whose key is still known is a duplicate all the same.
 */
export function quarantineStale(committedKeys: CommittedKeys, draft: EventDraft): EventDraft {
  return draft.quarantine === undefined && committedKeys.isStale(draft)
    ? { ...draft, quarantine: 'stale' }
    : draft
}
