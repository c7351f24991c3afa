import type { EventDraft } from '../model/event.ts'

/** The header, among those of the sender, that says where our own trace was. No sender's header of ours is forwarded. */
export const TRACEPARENT_KEPT = 'hookonce-traceparent'

/** Drafts that remember where the trace of their delivery is, so that their handlers can refer to it. */
export function keepTrace(
  drafts: readonly EventDraft[],
  traceparent: string,
): readonly EventDraft[] {
  return drafts.map((draft) => ({
    ...draft,
    headers: { ...draft.headers, [TRACEPARENT_KEPT]: traceparent },
  }))
}
