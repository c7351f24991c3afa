import { bytesOf } from '../../../src/model/stored-body.ts'
import { describe, expect, test } from 'vitest'
import { topicOf } from '../../../src/model/topic.ts'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, recordOne, runOne, unhandled } from '../../support/store-steps.ts'

/** What every store must keep byte for byte. Part of `recordContract`. */
export function recordBytesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, byte for byte`, () => {
    const bodies: readonly [string, Uint8Array][] = [
      ['no bytes', new Uint8Array(0)],
      ['a NUL, and one written as an escape', Buffer.from('{"a":"\u0000","b":"\\u0000"}')],
      [
        'a lone surrogate, as an escape and as bytes',
        Buffer.from('7b5c75643830307d eda080'.replace(' ', ''), 'hex'),
      ],
      ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x80, 0x00, 0xc3, 0x28])],
      ['a byte order mark', Buffer.from('\ufeff{}')],
      ['nesting 20,000 deep', Buffer.from('['.repeat(20_000) + ']'.repeat(20_000))],
      ['a view into a larger buffer', new Uint8Array(Buffer.from('xx{"a":1}xx')).subarray(2, 9)],
    ]

    test.each(bodies)('a body with %s is kept', async (_, body) => {
      const { store } = await openStore(underTest)

      const { eventId } = await recordOne(store, anEventDraft({ body }))

      const [claimed] = (await claim(store)).events
      expect(toHex(claimed && bytesOf(claimed.body))).toBe(toHex(body))
      expect(toHex((await store.operators.findEvent(eventId))?.body)).toBe(toHex(body))
    })

    const keys: readonly [string, string][] = [
      ['6,000 characters', 'k'.repeat(6_000)],
      ['a NUL', 'evt\u0000_1'],
      ['a line break', 'evt\r\n_1'],
      ['an emoji', 'evt_🪝'],
      ['quotes', `evt'";--`],
      ['nothing in it', ''],
    ]

    test.each(keys)('a key with %s is kept', async (_, key) => {
      const { store } = await openStore(underTest)

      const { eventId } = await recordOne(store, anEventDraft({ key }))

      expect(await store.operators.findEvent(eventId)).toMatchObject({ key })
      expect((await store.operators.listEventsByKey('stripe', key)).map(({ id }) => id)).toEqual([
        eventId,
      ])
      expect((await claim(store)).events).toMatchObject([{ key }])
    })

    test('headers, times and the evidence are kept', async () => {
      const { store } = await openStore(underTest)
      const headers = { 'x-a': 'a\u0000"é', 'x-b': ['1', '2'], constructor: 'no trap' }
      const receivedAt = new Date('2026-03-04T05:06:07.089Z')
      const occurredAt = new Date('1969-12-31T23:59:59.999Z')

      const { eventId } = await recordOne(
        store,
        anEventDraft({ headers, receivedAt, occurredAt, verifiedBy: 'old' }),
      )

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        headers,
        receivedAt,
        occurredAt,
        verifiedBy: 'old',
      })
      expect((await claim(store)).events).toMatchObject([
        { headers, receivedAt, occurredAt, verifiedBy: 'old' },
      ])
    })

    // PostgreSQL's text cannot hold one, and a handler must be found by the same name on every engine.
    test('a NUL in a type becomes U+FFFD', async () => {
      const { store } = await openStore(underTest)

      const { eventId } = await recordOne(store, anEventDraft({ type: 'invoice.paid\u0000' }))

      const type = 'invoice.paid\ufffd'
      expect(await store.operators.findEvent(eventId)).toMatchObject({ type })
      await runOne(
        store,
        (event) => {
          expect(event.type).toBe(type)
          return unhandled(event)
        },
        { of: [['stripe', type]] },
      )
      const topic = topicOf('stripe', type)
      expect(await store.queue.listUnhandled({ limit: 10, after: -1 })).toEqual([
        { topic, source: 'stripe', type },
      ])
      expect(await store.queue.wakeUnhandled([topic], 10)).toBe(1)
    })
  })
}

function toHex(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString('hex')
}
