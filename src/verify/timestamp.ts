/**
 * When a delivery says it was sent, and whether that is near enough to now.
 *
 * The text is matched before any arithmetic: `Math.abs(now - parseInt('abc')) > 300` is false, so a
 * comparison that meets NaN lets everything in. For the same reason the window is asked as "is it
 * inside", never as "is it outside".
 *
 * A count of seconds has ten digits from 2001 to 2286, and one of milliseconds thirteen. With any other
 * number of them it is another unit, or it has lent a digit to what was signed beside it.
 *
 * @module
 */

export type TimestampFormat = 'seconds' | 'milliseconds' | 'iso'

export interface TimestampRule {
  readonly format: TimestampFormat
  /** How old a delivery may be, and how far ahead of our clock. `Infinity` asks for the format only. */
  readonly toleranceSeconds: number
  /** How far ahead it may be, where a provider tells the two sides apart. */
  readonly aheadSeconds?: number
  /** Whether an age of exactly the tolerance is too old. */
  readonly isExclusive?: boolean
  /**
   * What becomes of a delivery outside the window that was signed.
   *
   * @defaultValue 'refuse'
   */
  readonly outside?: 'refuse' | 'quarantine'
}

const SECONDS = /^\d{10}$/
const MILLISECONDS = /^\d{13}$/
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/** Milliseconds since 1970, or `undefined` when the text is no timestamp of that format. */
export function findTimestampMs(text: string, format: TimestampFormat): number | undefined {
  if (format === 'iso') return findIsoMs(text)
  if (format === 'seconds') return SECONDS.test(text) ? Number(text) * 1000 : undefined
  return MILLISECONDS.test(text) ? Number(text) : undefined
}

/** The strict part of ISO 8601 that senders use: a date, a time to the second, and an offset. */
export function findIsoMs(text: string): number | undefined {
  if (!ISO.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

export function isInWindow(timestampMs: number, nowMs: number, rule: TimestampRule): boolean {
  // A sender that counts whole seconds is compared in whole seconds, as its own libraries do:
  // otherwise an age of exactly the tolerance would depend on our milliseconds.
  const now = rule.format === 'seconds' ? Math.floor(nowMs / 1000) * 1000 : nowMs
  const ageMs = now - timestampMs
  const aheadSeconds = rule.aheadSeconds ?? rule.toleranceSeconds
  if (rule.isExclusive === true && ageMs === rule.toleranceSeconds * 1000) return false
  return ageMs <= rule.toleranceSeconds * 1000 && -ageMs <= aheadSeconds * 1000
}
