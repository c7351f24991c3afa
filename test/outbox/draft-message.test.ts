import { describe, expect, test } from 'vitest'
import { draftMessage } from '../../src/outbox/draft-message.ts'
import { z } from 'zod'
import type { SendOptions } from '../../src/model/message.ts'
import type { StandardSchema } from '../../src/model/standard-schema.ts'

function draft(
  payload: unknown,
  options: SendOptions = {},
  destination = 'receipts',
  schema?: StandardSchema,
) {
  return draftMessage(new Map([['receipts', schema]]), {
    destination,
    payload,
    options,
    defaultKey: () => 'by-default',
    eventId: undefined,
  })
}

describe('a message to a destination with a schema', () => {
  const schema = z.object({ to: z.string(), cents: z.coerce.number() })
  const to = (payload: unknown, one: StandardSchema = schema) => draft(payload, {}, 'receipts', one)

  test('is what the schema puts out', () => {
    const { body } = to({ to: 'on-call@example.com', cents: '5', more: true })

    expect(JSON.parse(Buffer.from(body).toString())).toEqual({
      to: 'on-call@example.com',
      cents: 5,
    })
  })

  test('is refused with the paths of what is wrong, and the name of the destination', () => {
    expect(() => to({ cents: 'none' })).toThrow(
      expect.objectContaining({
        code: 'MESSAGE_MISMATCH',
        message: expect.stringMatching(/"receipts" takes: .*to: .*cents: /) as string,
      }),
    )
  })

  test('is refused where the schema would have to be waited for', () => {
    const late = z.string().refine(async () => false)

    expect(() => to('text', late)).toThrow(
      expect.objectContaining({
        code: 'MESSAGE_MISMATCH',
        message: expect.stringContaining('must be synchronous') as string,
      }),
    )
  })
})

describe('a message', () => {
  test('has its payload as JSON, and bytes as they are', () => {
    expect(draft({ a: 1 })).toMatchObject({ contentType: 'application/json' })
    expect(Buffer.from(draft('text').body).toString()).toBe('"text"')
    const bytes = Buffer.from([0, 255])
    expect(draft(bytes)).toMatchObject({ body: bytes, contentType: 'application/octet-stream' })
    expect(draft(bytes, { headers: { 'Content-Type': 'image/png' } })).toMatchObject({
      contentType: 'image/png',
      headers: {},
    })
  })

  test('H17: has in its JSON all that JSON can hold: NUL, lone surrogates, dates as text, nothing where nothing is', () => {
    const payload = {
      nul: 'a\u0000b',
      lone: '\ud800',
      at: new Date(0),
      none: null,
      left: undefined,
    }

    expect(JSON.parse(Buffer.from(draft(payload).body).toString())).toEqual({
      nul: 'a\u0000b',
      lone: '\ud800',
      at: '1970-01-01T00:00:00.000Z',
      none: null,
    })
  })

  test('has the key it is given, up to 255 characters', () => {
    expect(draft(1, { key: 'k'.repeat(255) }).key).toHaveLength(255)
    expect(draft(1).key).toBe('by-default')
    for (const key of ['', 'k'.repeat(256), 'a b', 'a\nb', 'é', 5 as never])
      expect(() => draft(1, { key }), key).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID', option: 'send.key' }),
      )
  })

  test.each(['constructor', 'toString', '__proto__'])(
    'can have a header called %s, once',
    (name) => {
      const { headers } = draft(1, { headers: Object.fromEntries([[name, 'a']]) })

      expect(Object.entries(headers)).toEqual([[name.toLowerCase(), 'a']])
      const twice = Object.fromEntries([
        [name, 'a'],
        [name.toUpperCase(), 'b'],
      ])
      expect(() => draft(1, { headers: twice })).toThrow(
        expect.objectContaining({ code: 'MESSAGE_INVALID' }),
      )
    },
  )

  test.each<readonly [string, unknown, SendOptions]>([
    ['a line break in a value', 1, { headers: { 'x-a': 'b\r\nx-c: d' } }],
    ['a line feed in a value', 1, { headers: { 'x-a': 'b\nc' } }],
    ['a NUL in a value', 1, { headers: { 'x-a': 'b\0' } }],
    ['a line break in a name', 1, { headers: { 'x-a\r\nx-b': 'c' } }],
    ['a value of 20 KB', 1, { headers: { 'x-a': 'b'.repeat(20_000) } }],
    ['a character that no header has', 1, { headers: { 'x-a': '€' } }],
    ['a header of ours', 1, { headers: { 'Idempotency-Key': 'mine' } }],
    ['a header of the connection', 1, { headers: { 'transfer-encoding': 'chunked' } }],
    ['a header twice', 1, { headers: { 'x-a': '1', 'X-A': '2' } }],
    ['a value that is no text', 1, { headers: { 'x-a': 5 as never } }],
    ['a payload that is nothing', undefined, {}],
    ['a payload that JSON cannot write', { n: 1n }, {}],
    ['a payload that is a function', () => 1, {}],
    ['a payload that JSON would make null', Number.NaN, {}],
    ['a number in it that JSON would make null', { amount: Infinity }, {}],
    ['nothing in a list, which JSON would make null', { list: [1, undefined] }, {}],
    ['a Date that is none, which JSON would make null', { at: new Date(Number.NaN) }, {}],
    ['a Map, which JSON would empty', { rows: new Map([[1, 2]]) }, {}],
    ['a payload too large', Buffer.alloc(8 * 1_048_576 + 1), {}],
  ])('X14: with %s is refused where it is sent', (_what, payload, options) => {
    expect(() => draft(payload, { key: 'k', ...options })).toThrow(
      expect.objectContaining({ code: 'MESSAGE_INVALID' }),
    )
  })

  test('to a destination that is not configured is refused by name', () => {
    expect(() => draft(1, { key: 'k' }, 'reciepts')).toThrow(
      expect.objectContaining({
        code: 'DESTINATION_UNKNOWN',
        message:
          'There is no destination "reciepts", did you mean "receipts"? Configured: receipts',
      }),
    )
  })

  test.each([
    [{ delayMs: -1 }, 'send.delayMs'],
    [{ delayMs: 1.5 }, 'send.delayMs'],
    [{ delay: 5 }, 'send.delay'],
  ])('with the options %j is refused', (options, option) => {
    expect(() => draft(1, { key: 'k', ...options })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option }),
    )
  })
})
