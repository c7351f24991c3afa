/**
 * Array parameters in PostgreSQL's binary format, which `pg` passes on as they are when given a Buffer.
 *
 * `pg` itself writes an array as text, and a list of Buffers as hex in text.
 * Measured on PostgreSQL 18 over a socket, inserting 100 bodies of 1 KiB through `unnest`: 2.0 to
 * 2.3 ms per statement with that hex text, 0.74 to 0.90 ms with one binary parameter per body in an
 * `array[…]`, 0.63 ms with one binary array, which also keeps the statement's text static.
 *
 * Only types with a fixed OID (those of `pg_type.dat` below 16384) can be sent this way.
 *
 * Only PostgreSQL: SQLite takes no arrays, and a statement for each row costs no round trip.
 *
 * @module
 */

import { digestBytes } from '../../model/digest.ts'
import type { Digest } from '../../model/digest.ts'
import { withoutNul } from '../shared/without-nul.ts'

export function byteaArray(values: readonly (Uint8Array | null)[]): Buffer {
  return encode(BYTEA, values)
}

export function digestArray(values: readonly (Digest | null)[]): Buffer {
  return encode(
    BYTEA,
    values.map((value) => (value === null ? null : digestBytes(value))),
  )
}

/** NUL cannot be in PostgreSQL's `text`; it becomes U+FFFD. A lone surrogate becomes it by encoding. */
export function textArray(values: readonly (string | null)[]): Buffer {
  return encode(
    TEXT,
    values.map((value) => (value === null ? null : Buffer.from(withoutNul(value)))),
  )
}

/** Milliseconds since 1970, or `null`. */
export function timestampArray(values: readonly (number | null)[]): Buffer {
  return encode(
    TIMESTAMPTZ,
    values.map((value) => {
      if (value === null) return null
      const bytes = Buffer.allocUnsafe(8)
      bytes.writeBigInt64BE((BigInt(Math.floor(value)) - POSTGRES_EPOCH_MS) * 1_000n)
      return bytes
    }),
  )
}

/** Uuids and numbers need no quoting, so that their text form is one join. */
export function plainArray(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`
}

const BYTEA = 17
const TEXT = 25
const TIMESTAMPTZ = 1184
/** 2000-01-01, where PostgreSQL's timestamps count from. */
const POSTGRES_EPOCH_MS = 946_684_800_000n
const HEADER_BYTES = 20

function encode(elementOid: number, values: readonly (Uint8Array | null)[]): Buffer {
  let size = HEADER_BYTES
  for (const value of values) size += 4 + (value?.byteLength ?? 0)

  const bytes = Buffer.allocUnsafe(size)
  bytes.writeInt32BE(values.length === 0 ? 0 : 1, 0) // dimensions
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4) // has nulls
  bytes.writeInt32BE(elementOid, 8)
  bytes.writeInt32BE(values.length, 12)
  bytes.writeInt32BE(1, 16) // lower bound
  let at = HEADER_BYTES
  for (const value of values) {
    at = bytes.writeInt32BE(value === null ? -1 : value.byteLength, at)
    if (value === null) continue
    bytes.set(value, at)
    at += value.byteLength
  }
  return values.length === 0 ? bytes.subarray(0, 12) : bytes
}
