/**
 * Values between Prisma and PostgreSQL: what Prisma gives as a parameter, and what it wants to read.
 *
 * Prisma reads everything by a type of column of its own, and expects dates in UTC, numbers that JavaScript cannot hold
 * as text, and JSON as text. Values come as PostgreSQL's text, so that neither parsers that the user gave to `pg` nor
 * the session's time zone are in it.
 *
 * @module
 */

import type { PgTypeParsers } from '../store/postgres/driver.ts'
import type { PrismaArgType } from './prisma-adapter.ts'
import { COLUMN } from './prisma-columns.ts'

/** Types of lists are numbered 64 further on. */
const LIST = 64
/** Prisma's lists have no number for these in the same place. */
const UUID_LIST = 78
const BYTES_LIST = 77

type Read = (text: string) => unknown

interface KnownType {
  readonly column: number
  readonly list?: number
  readonly read: Read
}

const asText: Read = (text) => text
const asTime: Read = (text) => text.replace(/[+-]\d{2}(?::\d{2})*$/, '')

/** By the number of the type, and that of its list. What is not here is read as text: also `void`, and enums. */
const TYPES: readonly (readonly [oid: number, listOid: number, known: KnownType])[] = [
  [16, 1000, { column: COLUMN.boolean, list: 69, read: (text) => text === 't' }],
  [17, 1001, { column: COLUMN.bytes, list: BYTES_LIST, read: readBytes }],
  [20, 1016, { column: COLUMN.int64, read: asText }],
  [21, 1005, { column: COLUMN.int32, read: Number }],
  [23, 1007, { column: COLUMN.int32, read: Number }],
  [26, 1028, { column: COLUMN.int64, read: asText }],
  [114, 199, { column: COLUMN.json, read: asText }],
  [700, 1021, { column: COLUMN.float, read: Number }],
  [701, 1022, { column: COLUMN.double, read: Number }],
  // Money has a sign of its currency before it, or behind it, and commas that mean nothing.
  [790, 791, { column: COLUMN.numeric, list: 68, read: (text) => text.replace(/[^\d.-]/g, '') }],
  [1082, 1182, { column: COLUMN.date, list: 72, read: asText }],
  [1083, 1183, { column: COLUMN.time, list: 73, read: asTime }],
  [1114, 1115, { column: COLUMN.dateTime, list: 74, read: (text) => inUtc(`${text}+00`) }],
  [1184, 1185, { column: COLUMN.dateTime, list: 74, read: inUtc }],
  [1266, 1270, { column: COLUMN.time, list: 73, read: asTime }],
  [1700, 1231, { column: COLUMN.numeric, list: 68, read: asText }],
  [2950, 2951, { column: COLUMN.uuid, list: UUID_LIST, read: asText }],
  [3802, 3807, { column: COLUMN.json, list: 75, read: asText }],
]

/** Lists of texts, which are told from a text by their number alone. */
const TEXT_LISTS = [1002, 1009, 1014, 1015, 1003, 1041, 651, 143, 1561, 1563]

const columns = new Map<number, number>()
const readers = new Map<number, Read>()
for (const [oid, listOid, { column, list = column + LIST, read }] of TYPES) {
  columns.set(oid, column).set(listOid, list)
  readers.set(oid, read).set(listOid, (text) => readList(text, read))
}
for (const oid of TEXT_LISTS) {
  columns.set(oid, COLUMN.text + LIST)
  readers.set(oid, (text) => readList(text, asText))
}

export const PRISMA_TYPES: PgTypeParsers = {
  getTypeParser: (oid) => readers.get(oid) ?? asText,
}

export function findColumnType(oid: number): number {
  return columns.get(oid) ?? COLUMN.text
}

/** A time as text with its zone: what has none would be read in the session's. */
export function toParameter(value: unknown, type: PrismaArgType | undefined): unknown {
  if (Array.isArray(value) && type?.arity === 'list')
    return value.map((item) => toParameter(item, type))
  if (type?.scalarType === 'datetime' && typeof value === 'string')
    return formatTime(new Date(value), type.dbType)
  if (value instanceof Date) return formatTime(value, type?.dbType)
  if (type?.scalarType === 'bytes' && typeof value === 'string') return Buffer.from(value, 'base64')
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return value
}

function formatTime(date: Date, dbType: string | undefined): string {
  const text = date.toISOString()
  if (dbType === 'DATE') return text.slice(0, text.indexOf('T'))
  if (dbType === 'TIME' || dbType === 'TIMETZ') return text.slice(text.indexOf('T') + 1)
  return text
}

/**
 * PostgreSQL's `2026-03-29 03:30:00.123456+02`, and `1883-11-18 12:03:57-04:56:02` of the days before time zones. What is
 * no moment, such as `infinity`, is left as it is.
 */
function inUtc(text: string): string {
  const [, day, time, sign, hours, minutes = '00', seconds = '00'] =
    /^(\d{4}-\d\d-\d\d) ([\d:.]+)([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?$/.exec(text) ?? []
  if (day === undefined || time === undefined || sign === undefined) return text
  const wholeMinutes = Date.parse(`${day}T${time}${sign}${hours}:${minutes}`)
  const date = new Date(wholeMinutes - Number(`${sign}${seconds}`) * 1_000)
  return date.toISOString().replace('Z', '+00:00')
}

/** In either form that `bytea_output` may ask for. */
function readBytes(text: string): Uint8Array {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex')
  const plain = text.replace(/\\(\\|\d{3})/g, (_match, code: string) =>
    code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code, 8)),
  )
  return Buffer.from(plain, 'latin1')
}

/** `{1,NULL,"a \"b\"",{2}}`, maybe with its bounds before it. */
function readList(text: string, read: Read): unknown[] {
  const stack: unknown[][] = [[]]
  for (const [token, quoted, plain] of text.slice(text.indexOf('{')).matchAll(LIST_TOKENS)) {
    if (token === '{') stack.push([])
    else if (token === '}') {
      const list = stack.pop()
      stack.at(-1)?.push(list)
    } else if (quoted !== undefined) stack.at(-1)?.push(read(quoted.replace(/\\(.)/gs, '$1')))
    else if (plain !== undefined) stack.at(-1)?.push(plain === 'NULL' ? null : read(plain))
  }
  return (stack[0]?.[0] ?? []) as unknown[]
}

const LIST_TOKENS = /[{}]|"((?:[^"\\]|\\.)*)"|([^{},"]+)/gs
