import type { DeliveryHeaders } from '../../../model/delivery.ts'
import type { EventId } from '../../../model/event.ts'
import type { OnceDraft } from '../../contract/once.ts'
import type { NumberedDraft } from '../numbered-draft.ts'
import type { Cipher } from './cipher.ts'
import { places } from './places.ts'
import { sealContent } from './seal-content.ts'
import type { Content } from './seal-content.ts'

/** Drafts as they are stored. The request that several of them are parts of is sealed once. */
export function sealDrafts(
  cipher: Cipher,
  drafts: readonly NumberedDraft[],
): readonly NumberedDraft[] {
  const requests = new Map<EventId, Uint8Array>()
  const sealRequest = ({ draft, requestId }: NumberedDraft): Uint8Array | undefined => {
    if (requestId === undefined || draft.request === undefined) return undefined
    const sealed =
      requests.get(requestId) ??
      cipher.seal(draft.request, places.requestBody(requestId, draft.source))
    requests.set(requestId, sealed)
    return sealed
  }
  return drafts.map((numbered) => {
    const { id, draft } = numbered
    const content = sealContent(cipher, draft, placesOf(id, draft.source))
    return { ...numbered, draft: { ...draft, ...content, request: sealRequest(numbered) } }
  })
}

/** What is stored of a call of `once`. */
export type StoreOnce = (id: EventId, draft: OnceDraft) => Content<DeliveryHeaders>

export function createStoreOnce(cipher: Cipher | undefined): StoreOnce {
  return (id, { source, body, contentType }) => {
    const headers: DeliveryHeaders =
      contentType === undefined ? {} : { 'content-type': contentType }
    if (cipher === undefined) return { body, headers }
    return sealContent(cipher, { body, headers }, placesOf(id, source))
  }
}

/** Where an event's body and headers are. */
export function placesOf(id: EventId, source: string) {
  return { body: places.eventBody(id, source), headers: places.eventHeaders(id, source) }
}
