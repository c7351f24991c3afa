import { describe, expect, test } from 'vitest'
import { destination } from '../../../src/outbox/destination.ts'
import { anEventDraft } from '../../support/builders.ts'
import { aKey, ENCRYPTION } from '../../support/encryption-keys.ts'
import { openInbox } from '../../support/inbox-under-test.ts'
import type { InboxSetup } from '../../support/inbox-under-test.ts'
import type { DatabaseUnderTest, StoreUnderTest } from '../../support/store-under-test.ts'

type Tamper = (row: Row) => { body?: Uint8Array; headers?: string }
interface Row {
  readonly body: Uint8Array
  readonly headers: string
}

/** What is changed in the database is noticed, harms what it belongs to, and nothing else. */
export function tamperedContract(plain: StoreUnderTest): void {
  const underTest: StoreUnderTest = {
    ...plain,
    create: async () => {
      const database = await plain.create()
      const newStore: DatabaseUnderTest['newStore'] = (options) =>
        database.newStore({ encryption: ENCRYPTION, ...options })
      return { ...database, newStore }
    },
  }

  describe(`${plain.name}: what was changed in the database`, () => {
    test.each<[string, Tamper]>([
      ['a bit of its body', ({ body }) => ({ body: flip(body, body.length - 20) })],
      ['a bit of its nonce', ({ body }) => ({ body: flip(body, 30) })],
      ['a bit of where it says that it is encrypted', ({ body }) => ({ body: flip(body, 3) })],
      ['the name of its key', ({ body }) => ({ body: flip(body, 19) })],
      ['a bit of its headers', ({ headers }) => ({ headers: flipText(headers, 60) })],
      ['its headers, so that they are no JSON', ({ headers }) => ({ headers: headers.slice(1) })],
      ['its headers, so that they are none', () => ({ headers: '{}' })],
      ['its body, so that it is in the clear', () => ({ body: Buffer.from('{"id":"forged"}') })],
      ['its end, so that it is short', ({ body }) => ({ body: body.subarray(0, 40) })],
    ])(
      'S02: an event with %s changed is dead or waits, and no handler sees it',
      async (_, tamper) => {
        const { inbox, seen, ids, alarms, untilTried } = await open(underTest, [
          'good_1',
          'bad',
          'good_2',
        ])
        await change(inbox.database, ids.get('bad'), tamper)
        await inbox.start()
        await untilTried(3)

        expect(seen.toSorted()).toEqual(['good_1', 'good_2'])
        expect(alarms[0]).toMatchObject({ eventId: ids.get('bad') })
        const record = await inbox.find('bad')
        expect(record).toMatchObject({
          payload: 'unreadable',
          headers: {},
          failures: [
            { reason: 'payload', message: expect.stringMatching(/cannot be decrypted/) as string },
          ],
        })
        expect(['dead', 'ready', 'running']).toContain(record?.state)
        expect(await inbox.worksStill()).toBe(true)
      },
    )

    test('S02: two events whose bodies were swapped are both dead, with the code', async () => {
      const { inbox, seen, ids, alarms, untilTried } = await open(underTest, [
        'one',
        'other',
        'good',
      ])
      const [one, other] = [
        await read(inbox.database, ids.get('one')),
        await read(inbox.database, ids.get('other')),
      ]
      await change(inbox.database, ids.get('one'), () => ({ body: other.body }))
      await change(inbox.database, ids.get('other'), () => ({ body: one.body }))
      await inbox.start()
      await untilTried(3)

      expect(seen).toEqual(['good'])
      expect(alarms).toHaveLength(2)
      for (const key of ['one', 'other'])
        expect(await inbox.find(key)).toMatchObject({
          state: 'dead',
          reason: expect.stringMatching(
            /^UnreadableError: DECRYPT_FAILED: events\.body of /,
          ) as string,
        })
    })

    test('S02: whole rows whose content was swapped, headers and all, are dead', async () => {
      const { inbox, seen, ids, untilTried } = await open(underTest, ['one', 'other', 'good'])
      const [one, other] = [
        await read(inbox.database, ids.get('one')),
        await read(inbox.database, ids.get('other')),
      ]
      await change(inbox.database, ids.get('one'), () => other)
      await change(inbox.database, ids.get('other'), () => one)
      await inbox.start()
      await untilTried(3)

      expect(seen).toEqual(['good'])
      for (const key of ['one', 'other'])
        expect(await inbox.find(key)).toMatchObject({ state: 'dead', payload: 'unreadable' })
    })

    test('S02: an event of steps, and one of an order, are dead in the same way', async () => {
      const { inbox, ids, alarms } = await open(
        underTest,
        ['bad'],
        ['charge.captured', 'charge.refunded'],
      )
      for (const key of ids.keys())
        await change(inbox.database, ids.get(key), ({ body }) => ({
          body: flip(body, body.length - 1),
        }))
      await inbox.start()

      await expect.poll(() => alarms.length).toBe(3)
      for (const key of ids.keys())
        expect(await inbox.find(key)).toMatchObject({
          state: 'dead',
          reason: expect.stringContaining('DECRYPT_FAILED') as string,
        })
    })

    test('S02: a message that was changed is dead, is not sent, and those after it are', async () => {
      const sent: string[] = []
      const mail = destination('mail', ({ body }) => {
        sent.push(Buffer.from(body).toString())
      })
      const { inbox, alarms, untilDone } = await open(underTest, ['one', 'other'], [], {
        destinations: [mail],
        relay: false,
      })
      await inbox.start()
      await untilDone(2)
      const { database } = inbox
      const table = tableOf(database, 'messages')
      const [row] = await database.query(`select id, body from ${table} order by id limit 1`)
      const body = flip(row!['body'] as Uint8Array, 50)
      await database.query(`update ${table} set body = $1 where id = $2`, [body, row!['id']])

      const relaying = inbox.another({ destinations: [mail], worker: false, relay: { pollMs: 50 } })
      const told: unknown[] = []
      relaying.events.on('store.decrypt-failed', (about) => told.push(about))
      await relaying.start()
      await expect.poll(() => sent.length).toBe(1)
      await expect.poll(() => told.length).toBe(1)

      expect(told).toMatchObject([{ messageId: row!['id'] }])
      expect(alarms).toEqual([])
      expect(await relaying.admin.findMessage(String(row!['id']))).toMatchObject({
        state: 'dead',
        reason: expect.stringContaining('DECRYPT_FAILED') as string,
        failures: [{ reason: 'unreadable' }],
      })
    })

    test('an event whose key this process does not have waits for one that does', async () => {
      const { inbox, seen, ids, alarms } = await open(underTest, ['waits'])
      const next = aKey('2026-12')
      await inbox.start()
      await expect.poll(() => seen.length).toBe(1)
      // Another process begins with a key that this one, which runs already, has not heard of.
      const other = inbox.database.newStore({ encryption: { keys: [next, ...ENCRYPTION.keys] } })
      await other.open()
      const { eventId } = await inbox.recordThrough(other, 'later')

      await expect.poll(() => alarms.length).toBe(1)
      expect(ids.size).toBe(1)
      expect(alarms[0]).toMatchObject({ eventId, error: { code: 'ENCRYPTION_KEY_MISSING' } })
      const record = await other.operators.findEvent(eventId)
      expect(record).toMatchObject({ payload: 'kept', attempts: 1 })
      expect(record?.state).not.toBe('dead')
      expect(seen).toEqual(['waits'])
    })
  })
}

async function open(
  underTest: StoreUnderTest,
  keys: readonly string[],
  types: readonly string[] = [],
  setup: InboxSetup = {},
) {
  const opened = await openInbox(underTest, { worker: false })
  const ids = new Map<string, string>()
  for (const key of keys) ids.set(key, (await opened.deliver(key)).eventId ?? '')
  for (const type of types) ids.set(type, (await opened.deliver(type, { type })).eventId ?? '')
  const working = opened.another(setup)
  const seen: string[] = []
  const alarms: unknown[] = []
  let done = 0
  let tried = 0
  working.events.on('event.done', () => (done += 1))
  for (const name of ['event.done', 'event.dead', 'event.failed'] as const)
    working.events.on(name, () => (tried += 1))
  working.events.on('store.decrypt-failed', (about) => alarms.push(about))
  working.on('stripe', 'invoice.paid', async (event, { send }) => {
    seen.push(event.key)
    if (setup.destinations !== undefined) await send('mail', { key: event.key })
  })
  working.steps('stripe', 'charge.captured', async (event, step) => {
    await step.call('call', () => seen.push(event.key))
  })
  working.on(
    'stripe',
    'charge.refunded',
    { order: { mode: 'fifo', lane: ({ payload }) => payload.id } },
    (event) => {
      seen.push(event.key)
    },
  )
  return {
    seen,
    ids,
    alarms,
    /** Until so many attempts have ended, in whichever way. */
    untilTried: (count: number) => expect.poll(() => tried).toBeGreaterThanOrEqual(count),
    untilDone: (count: number) => expect.poll(() => done).toBe(count),
    inbox: {
      database: opened.database,
      another: opened.another,
      start: () => working.start(),
      find: (key: string) => working.admin.findEvent(ids.get(key) ?? ''),
      worksStill: async () => {
        await opened.deliver('after')
        await expect.poll(() => seen.includes('after')).toBe(true)
        return true
      },
      recordThrough: async (store: ReturnType<DatabaseUnderTest['newStore']>, key: string) => {
        const [recorded] = await store.events.record([anEventDraft({ key })], {
          deadlineMs: 60_000,
        })
        return recorded!
      },
    },
  }
}

function tableOf(database: DatabaseUnderTest, name: string): string {
  return 'file' in database ? `hookonce_${name}` : `hookonce.${name}`
}

async function read(database: DatabaseUnderTest, id: string | undefined): Promise<Row> {
  const table = tableOf(database, 'events')
  const [row] = await database.query(`select body, headers from ${table} where id = $1`, [id])
  return row as unknown as Row
}

async function change(
  database: DatabaseUnderTest,
  id: string | undefined,
  tamper: Tamper,
): Promise<void> {
  const row = await read(database, id)
  const { body, headers } = { ...row, ...tamper(row) }
  const table = tableOf(database, 'events')
  await database.query(`update ${table} set body = $1, headers = $2 where id = $3`, [
    body,
    headers,
    id,
  ])
}

function flip(bytes: Uint8Array, at: number): Uint8Array {
  const flipped = Buffer.from(bytes)
  flipped[at] = (flipped[at] ?? 0) ^ 1
  return flipped
}

/** A bit of what is encrypted, not of the JSON around it. */
function flipText(text: string, at: number): string {
  return Buffer.from(flip(Buffer.from(text), at)).toString('latin1')
}
