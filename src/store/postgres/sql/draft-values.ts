/**
 * Only PostgreSQL: SQLite is given one row at a time (`sql/record-new.ts`).
 *
 * @module
 */

import { isUtf8 } from 'node:buffer'
import type { DeliveryHeaders } from '../../../model/delivery.ts'
import type { Digest } from '../../../model/digest.ts'
import type { EventDraft } from '../../../model/event.ts'
import { listRequests } from '../../shared/numbered-draft.ts'
import type { NumberedDraft } from '../../shared/numbered-draft.ts'
import { byteaArray, digestArray, plainArray, textArray, timestampArray } from '../binary-array.ts'

// $1 id  $2 source  $3 event key  $4 type  $5 key hash  $6 fingerprint  $7 content hash
// $8 body  $9 headers  $10 received at  $11 occurred at  $12 version  $13 sequence  $14 verified by  $15 is text
// $16 topic  $17 quarantine  $18 request id
export const DRAFTS = `
         unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[],
                $8::bytea[], $9::text[], $10::timestamptz[], $11::timestamptz[], $12::text[],
                $13::text[], $14::text[], $15::boolean[], $16::bigint[], $17::text[], $18::uuid[])
           with ordinality
           as draft (id, source, event_key, type, key_hash, fingerprint, content_hash,
                     body, headers, received_at, occurred_at, version, sequence, verified_by, is_text, topic,
                     quarantine, request_id, ord)`

export const EVENT_COLUMNS = `
         id, source, event_key, type, key_hash, body, headers, received_at, occurred_at, version, sequence,
         verified_by, is_text, topic, request_id`

/** The parameters of `DRAFTS`. */
export function draftValues(drafts: readonly NumberedDraft[]): unknown[] {
  const list = drafts.map(({ draft }) => draft)
  return [
    plainArray(drafts.map(({ id }) => id)),
    textArray(list.map(({ source }) => source)),
    byteaArray(list.map(({ key }) => (key === undefined ? null : Buffer.from(key)))),
    textArray(list.map(({ type }) => type)),
    digestArray(list.map(({ keyHash }) => keyHash)),
    digestArray(list.map(({ fingerprint }) => fingerprint)),
    digestArray(list.map((draft) => findContentHash(draft) ?? null)),
    byteaArray(list.map(({ body }) => body)),
    textArray(list.map(headerTexts())),
    timestampArray(list.map(({ receivedAt }) => receivedAt.getTime())),
    timestampArray(list.map(({ occurredAt }) => storableTime(occurredAt))),
    textsIfAny(list.map(({ version }) => version)),
    textsIfAny(list.map(({ sequence }) => sequence)),
    textArray(list.map(({ verifiedBy }) => verifiedBy)),
    plainArray(list.map(({ body }) => (isText(body) ? 't' : 'f'))),
    plainArray(drafts.map(({ topic }) => topic)),
    textsIfAny(list.map(({ quarantine }) => quarantine)),
    drafts.some(({ requestId }) => requestId !== undefined)
      ? plainArray(drafts.map(({ requestId }) => requestId ?? 'null'))
      : null,
  ]
}

/** Where there is nothing to say, as nearly always, `unnest` fills up with nulls. */
function textsIfAny(texts: readonly (string | undefined)[]): string | Buffer | null {
  if (texts.every((text) => text === undefined)) return null
  return textArray(texts.map((text) => text ?? null))
}

/** The requests that the drafts are parts of: their ids, and their bodies. */
export function requestValues(drafts: readonly NumberedDraft[]): unknown[] {
  const requests = listRequests(drafts)
  if (requests.size === 0) return [null, null]
  return [plainArray([...requests.keys()]), byteaArray([...requests.values()])]
}

/** The events of one delivery share their headers: ten thousand of them need not be written ten thousand times. */
function headerTexts(): (draft: EventDraft) => string {
  const texts = new Map<DeliveryHeaders, string>()
  return ({ headers }) => {
    const text = texts.get(headers) ?? JSON.stringify(headers)
    texts.set(headers, text)
    return text
  }
}

/** What PostgreSQL can hand over as text, byte for byte. */
export function isText(body: Uint8Array): boolean {
  return isUtf8(body) && !body.includes(0)
}

/** Bytes that are free to repeat are not watched, whatever the draft says. */
export function findContentHash(draft: EventDraft): Digest | undefined {
  return draft.sameBytes === 'run' ? undefined : draft.contentHash
}

const YEAR_1_MS = Date.parse('0001-01-01T00:00:00Z')
const YEAR_10000_MS = Date.UTC(10_000, 0, 1)

/** A sender may claim any time; one that PostgreSQL cannot hold must not fail the batch for ever. */
function storableTime(time: Date | undefined): number | null {
  const ms = time?.getTime() ?? NaN
  return ms >= YEAR_1_MS && ms < YEAR_10000_MS ? ms : null
}
