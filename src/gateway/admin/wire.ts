/**
 * How values that JSON lacks are written: in an answer of the admin API, and read again by `remote-operator.ts`.
 *
 * @module
 */

import { z } from 'zod'

/** A time: `2026-11-16T03:00:00.000Z`. */
export const instant = z.codec(
  z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a time such as 2026-11-16T03:00Z')
    .meta({ format: 'date-time' }),
  z.date(),
  { decode: (text) => new Date(text), encode: (date) => date.toISOString() },
)

/** Bytes, in base64. What a sender has sent need not be text. */
export const bytes = z.codec(
  z
    .string()
    .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64')
    .meta({ contentEncoding: 'base64' }),
  z.instanceof(Uint8Array),
  {
    decode: (text): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, 'base64')),
    encode: (given) => Buffer.from(given).toString('base64'),
  },
)

/** Yes or no in a query, where everything is text. */
export const flag = z.codec(z.enum(['true', 'false']), z.boolean(), {
  decode: (text) => text === 'true',
  encode: (value) => (value ? 'true' : 'false'),
})

/** What may not be there: `undefined` here, `null` in JSON, so that an answer always has the same members. */
export function orNull<Inner extends z.ZodType>(
  inner: Inner,
): z.ZodType<z.output<Inner> | undefined> {
  return z.codec(z.nullable(inner), z.custom<z.output<Inner> | undefined>(), {
    decode: (value): z.output<Inner> | undefined => value ?? undefined,
    encode: (value) => (value ?? null) as z.output<Inner> | null,
  })
}
