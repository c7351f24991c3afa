/** The most that a receiver can make a message wait. */
const RETRY_AFTER_MS_MAX = 3_600_000

/**
 * What a `Retry-After` asks for, in milliseconds from 0 to an hour; `undefined` for what is none.
 *
 * Strict, because `Date.parse` takes "-1" for a day in 2001 and `Number` takes "" for 0. A date is
 * taken against the answer's own `Date` where there is one, so that neither clock has to be right.
 */
export function parseRetryAfter(
  value: string | undefined,
  date: string | undefined,
  nowMs: number = Date.now(),
): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^\d{1,15}$/.test(text)) return Math.min(Number(text) * 1_000, RETRY_AFTER_MS_MAX)
  const until = parseHttpDate(text)
  if (until === undefined) return undefined
  const from = parseHttpDate(date?.trim() ?? '') ?? nowMs
  return Math.min(Math.max(until - from, 0), RETRY_AFTER_MS_MAX)
}

/** RFC 9110, the form that servers must send. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

function parseHttpDate(text: string): number | undefined {
  const ms = HTTP_DATE.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(ms) ? undefined : ms
}
