/**
 * What a sender says of an event's place among others (a version, a count, a time) as one text that sorts as what it
 * stands for, byte by byte. So one column keeps all of them on any database, with the order exact: a number of a
 * database would cut counts beyond 2^53 or 2^63, and a time fractions below a microsecond.
 *
 *     7                           n017
 *     18446744073709551616        n2018446744073709551616
 *     1759999999.000506           n101759999999.000506
 *     2025-10-09T10:53:20.5+02:00 t2025-10-09T08:53:20.5
 *     rev-b                       xrev-b
 *
 * A number has the count of its digits before it, and a time is in UTC. What is neither has no order that we know; it
 * is kept for people. Texts of two kinds, the first letter, are not to be compared.
 *
 * @module
 */

/** Made by `findOrderText`. */
export type OrderText = string

/** Longer ones are not kept. Also the most that two digits can count. */
const LENGTH_MAX = 99

/** `undefined` for what is not there, is no number, or is too long to be kept. */
export function findOrderText(value: number | string | Date | undefined): OrderText | undefined {
  const text = value === undefined ? undefined : textOf(value)
  if (text === undefined || text === '' || text.length > LENGTH_MAX) return undefined
  // PostgreSQL's text cannot hold a NUL.
  return findNumber(text) ?? findTime(text) ?? `x${text.replaceAll('\u0000', '\ufffd')}`
}

/** What it stands for, as a person reads it. */
export function findOrderValue(text: OrderText | null | undefined): string | undefined {
  if (text === null || text === undefined) return undefined
  if (text.startsWith('n')) return text.slice(3)
  return text.startsWith('t') ? `${text.slice(1)}Z` : text.slice(1)
}

function textOf(value: number | string | Date): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined
  return Number.isNaN(value.getTime()) ? undefined : value.toISOString()
}

const NUMBER = /^0*(\d+)(?:\.(\d+?)0*)?$/

function findNumber(text: string): OrderText | undefined {
  const [, whole, fraction] = NUMBER.exec(text) ?? []
  if (whole === undefined) return undefined
  return `n${String(whole.length).padStart(2, '0')}${whole}${fractionOf(fraction)}`
}

// As ISO 8601 has it, and as some senders have it: a blank for the T, no zone where all are in UTC.
const TIME =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d+?)0*)?(?:Z| ?UTC| ?([+-])(\d{2}):?(\d{2}))?$/i

function findTime(text: string): OrderText | undefined {
  const [, day, time, fraction, sign, hours, minutes] = TIME.exec(text) ?? []
  if (day === undefined || time === undefined) return undefined
  const local = Date.parse(`${day}T${time}Z`)
  if (Number.isNaN(local)) return undefined
  const offsetMs = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
  const utc = new Date(sign === '-' ? local + offsetMs : local - offsetMs).toISOString()
  // Years of more than four digits would not sort.
  if (utc.length !== '2025-10-09T08:53:20.000Z'.length) return undefined
  return `t${utc.slice(0, 19)}${fractionOf(fraction)}`
}

function fractionOf(digits: string | undefined): string {
  return digits === undefined || digits === '0' ? '' : `.${digits}`
}
