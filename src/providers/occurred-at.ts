import { findIsoMs } from '../verify/timestamp.ts'

const YEAR_10000_MS = 253_402_300_800_000
/** September 2001. Between the year 9999 in seconds and this no number is a time that a sender means. */
const MILLISECONDS_MIN = 1_000_000_000_000

/**
 * A sender's own time of an event: ISO 8601, or seconds or milliseconds since 1970. Times before 1970 or
 * past the year 9999 are mistakes, and not every database can hold them, so they are left out.
 */
export function findOccurredAt(text: string | undefined): Date | undefined {
  const ms = text === undefined ? undefined : findMs(text)
  return ms !== undefined && ms >= 0 && ms < YEAR_10000_MS ? new Date(ms) : undefined
}

function findMs(text: string): number | undefined {
  if (!/^\d{1,15}(?:\.\d{1,12})?$/.test(text)) return findIsoMs(text)
  const value = Number(text)
  return Math.round(value < MILLISECONDS_MIN ? value * 1000 : value)
}

/** A time that a sender means in UTC and does not say so: `2025-10-09T08:53:17` becomes `…17Z`. */
export function asUtc(text: string | undefined): string | undefined {
  return text !== undefined && /T[\d:.]+$/.test(text) ? `${text}Z` : text
}
