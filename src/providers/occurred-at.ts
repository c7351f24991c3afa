import { findIsoMs } from '../verify/timestamp.ts'

const YEAR_10000_MS = 253_402_300_800_000

/**
 * A sender's own time of an event, as something to spread into an identified event: seconds since
 * 1970 as a number, or ISO 8601 text. Times before 1970 or past the year 9999 are mistakes, and not
 * every database can hold them, so they are left out.
 */
export function occurredAt(value: unknown): { readonly occurredAt?: Date } {
  const ms = findMs(value)
  return ms !== undefined && ms >= 0 && ms < YEAR_10000_MS ? { occurredAt: new Date(ms) } : {}
}

function findMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value * 1000
  return typeof value === 'string' ? findIsoMs(value) : undefined
}
