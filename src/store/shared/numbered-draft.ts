import type { EventDraft, EventId } from '../../model/event.ts'
import type { Topic, Topics } from '../../model/topic.ts'

/** A draft with the id it will have if it turns out to be new. */
export interface NumberedDraft {
  readonly id: EventId
  readonly topic: Topic
  readonly draft: EventDraft
  /** What the request is kept under that the event is a part of: the id that was meant for its first event. */
  readonly requestId: EventId | undefined
}

export function numberDrafts(
  drafts: readonly EventDraft[],
  { newId, topics }: { readonly newId: () => EventId; readonly topics: Topics },
): readonly NumberedDraft[] {
  const requestIds = new Map<Uint8Array, EventId>()
  return drafts.map((draft) => {
    const id = newId()
    const { source, type, request } = draft
    const topic = topics.of(source, type)
    if (request === undefined) return { id, topic, draft, requestId: undefined }
    const requestId = requestIds.get(request) ?? id
    requestIds.set(request, requestId)
    return { id, topic, draft, requestId }
  })
}

/** The requests that these are parts of, each once. */
export function listRequests(drafts: readonly NumberedDraft[]): ReadonlyMap<EventId, Uint8Array> {
  const requests = new Map<EventId, Uint8Array>()
  for (const { requestId, draft } of drafts) {
    if (requestId !== undefined && draft.request !== undefined)
      requests.set(requestId, draft.request)
  }
  return requests
}

/**
 * Whether it was signed at another time than now. It is kept without its key, which stays free for the same event
 * in time.
 */
export function isOutsideWindow({ quarantine }: EventDraft): boolean {
  return quarantine === 'outside the time window'
}
