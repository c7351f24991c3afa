/**
 * Ids as ranges of time: a UUIDv7 begins with the milliseconds at which it was made, so that a look at a time is a
 * range of the primary key, and needs no index of its own.
 *
 * @module
 */

import type { EventId } from './event.ts'

/** None is lower. */
export const lowestId: EventId = '00000000-0000-0000-0000-000000000000'

/** Above every id that is ever made: a UUIDv7 has a 7 in the middle. */
export const highestId: EventId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const TIME_MAX = 2 ** 48

/** No id made at this time, or later, is lower. */
export function lowestIdAt(timeMs: number): EventId {
  if (timeMs >= TIME_MAX) return highestId
  const hex = Math.floor(timeMs).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** When it was made, in milliseconds since 1970. */
export function timeOfId(id: EventId): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** In lower case, as ids are kept: compared as text they sort as they do in the database. */
export function isUuid(text: unknown): text is EventId {
  return (
    typeof text === 'string' &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text)
  )
}
