import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { OptionInvalidError } from '../../src/errors.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import {
  createFaultSources,
  fromPartner,
  fromPartnerBytes,
  fromRival,
  fromStripe,
} from '../support/faults/fault-sources.ts'
import type { Boundary } from '../support/faults/probed-client.ts'
import { until } from '../support/faults/until.ts'

describe.each(ENGINES)('what is verified is kept as it came on %s', (engine) => {
  test('R17, R34: bodies that parsers and databases trip over are stored byte for byte', async () => {
    const database = await createFaultDatabase(engine)
    const inbox = createFaultInbox(database, { worker: {} })
    for (const [name, { body }] of Object.entries(BODIES)) {
      const answer = await inbox.inbox.receive('bytes', fromPartnerBytes(body))
      expect(answer, name).toMatchObject({ status: 200, outcome: 'accepted' })
      const stored = await inbox.inbox.admin.findEvent(answer.eventId!)
      expect(sha256(stored!.body), name).toBe(sha256(body))
      const changed = { ...fromPartnerBytes(body), body: Buffer.concat([body, Buffer.from(' ')]) }
      expect(await inbox.inbox.receive('bytes', changed), name).toMatchObject({ status: 401 })
    }
    inbox.inbox.on('bytes', '*', ({ payload }) => payload !== undefined)
    await inbox.inbox.start()
    await until(
      'all have ended',
      () => inbox.count('event.done') + inbox.count('event.dead') === Object.keys(BODIES).length,
    )

    const dead = await inbox.inbox.admin.listDead()
    expect(dead.map(({ body }) => sha256(body)).sort()).toEqual(
      Object.values(BODIES)
        .flatMap(({ body, isJson }) => (isJson ? [] : [sha256(body)]))
        .sort(),
    )
    expect(
      new Set(dead.map(({ attempts, failures }) => `${attempts} ${failures[0]?.reason}`)),
    ).toEqual(new Set(['1 payload']))
  })

  test('R18: an id of any length and any characters is one event, however often it comes', async () => {
    const database = await createFaultDatabase(engine)
    const receiver = createFaultInbox(database, { receive: { rememberMax: 0 } })
    const ids = [
      'x'.repeat(6_000),
      `${'x'.repeat(6_000)}y`,
      'a\nb',
      'a\u0000b',
      'a\ufffdb',
      '\u202eevil',
      '🪝',
      'a',
      'A',
      ' a',
      '\ud800',
    ]

    for (const expected of ['accepted', 'duplicate']) {
      for (const id of ids) {
        expect(
          await receiver.inbox.receive('partner', fromPartner({ key: id })),
          JSON.stringify(id.slice(0, 9)),
        ).toMatchObject({ status: 200, outcome: expected })
      }
    }
    expect(await database.count('events')).toBe(ids.length)
  })

  test('R19, R20: one id at two sources, modes and accounts, or cut elsewhere, is as many events', async () => {
    const database = await createFaultDatabase(engine)
    const receiver = createFaultInbox(database)
    const deliveries: [Parameters<typeof receiver.inbox.receive>[0], Delivery][] = [
      ['partner', fromPartner({ key: 'evt_1' })],
      ['rival', fromRival({ key: 'evt_1' })],
      ['a', fromPartner({ key: 'bc' })],
      ['ab', fromPartner({ key: 'c' })],
      ['stripe', fromStripe('evt_1', new Date(), { livemode: true })],
      ['stripe', fromStripe('evt_1', new Date(), { livemode: false })],
      ['stripe', fromStripe('evt_1', new Date(), { livemode: true, account: 'acct_1' })],
      ['stripe', fromStripe('evt_1', new Date(), { livemode: true, account: 'acct_2' })],
      // Written one after the other, account and id read the same as two lines above.
      ['stripe', fromStripe('_1', new Date(), { livemode: true, account: 'acct_1evt' })],
    ]
    for (const [source, delivery] of deliveries) {
      expect(await receiver.inbox.receive(source, delivery)).toMatchObject({ outcome: 'accepted' })
    }
    expect(await database.count('events')).toBe(deliveries.length)
  })
})

describe('receiving itself', () => {
  test('R36: a limit that is no limit stops the inbox from being made', () => {
    const store = sqliteStore('unused.db')
    const sources = createFaultSources()
    for (const bad of ['10 MBB', Number.NaN, -1, 0, Infinity, 1.5, null, '1048576']) {
      const receive = { bodyBytesMax: bad as number }
      expect(() => createInbox({ store, sources, receive }), String(bad)).toThrow(
        OptionInvalidError,
      )
    }
    const misspelt = { bodyByteMax: 1 } as object
    expect(() => createInbox({ store, sources, receive: misspelt })).toThrow(/bodyByteMax/)
    expect(existsSync('unused.db')).toBe(false)
  })

  test('R48: no notification is sent inside a transaction, where it would serialise every commit', async () => {
    const database = await createFaultDatabase('postgres')
    const passed: Boundary[] = []
    const receiver = createFaultInbox(database, { probe: (boundary) => void passed.push(boundary) })
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          accept(receiver, fromPartner({ key: `evt_${round}_${i}` })),
        ),
      )
      await until('others were told', () => passed.some(({ text }) => /notify/i.test(text)))
    }
    // What is plainly new commits by itself; another content under a known key is stored in a transaction.
    await accept(receiver, fromPartner({ key: 'evt_0_0', type: 'thing.changed' }))
    const notifications = passed.filter(
      ({ text, phase }) => phase === 'before' && /notify/i.test(text),
    )
    expect(notifications.length).toBeGreaterThan(0)
    expect(
      notifications.filter(
        ({ isInTransaction, text }) => isInTransaction === true || /commit|insert/i.test(text),
      ),
    ).toEqual([])
    expect(
      passed.some(({ isInTransaction, text }) => isInTransaction === true && /insert/i.test(text)),
    ).toBe(true)
    // Nor by a function that is called in one.
    const functions = `select proname from pg_proc where pronamespace = 'hookonce'::regnamespace`
    expect((await database.query(functions)).length).toBeGreaterThan(0)
    expect(await database.query(`${functions} and prosrc ~* 'notify'`)).toEqual([])
  })
})

const BODIES: Readonly<Record<string, { body: Buffer; isJson: boolean }>> = {
  'an escaped NUL': { body: Buffer.from('{"a":"\\u0000"}'), isJson: true },
  'a lone surrogate': { body: Buffer.from('{"a":"\\ud800"}'), isJson: true },
  'bytes that are not UTF-8': { body: Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]), isJson: false },
  'a byte order mark': { body: Buffer.from('\ufeff{"a":1}'), isJson: true },
  'deep nesting': { body: Buffer.from('['.repeat(20_000) + ']'.repeat(20_000)), isJson: true },
  'a number past all numbers': { body: Buffer.from('{"a":1e400000}'), isJson: true },
  nothing: { body: Buffer.alloc(0), isJson: false },
  'odd white space': {
    body: Buffer.from('{ "b" : 1.0,\r\n"a":\t"\\u00e9é" , "b":2}'),
    isJson: true,
  },
  'no JSON': { body: Buffer.from('{"a":'), isJson: false },
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
