import { createHmac } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { createFaultInbox } from '../support/faults/fault-inbox.ts'
import {
  forged,
  fromPartner,
  fromRival,
  fromStripe,
  STRIPE_SECRET,
} from '../support/faults/fault-sources.ts'
import { post } from '../support/faults/post.ts'
import { startSubject } from '../support/faults/start-subjects.ts'

describe('what was not verified', () => {
  test('R22, R43: a forged delivery runs no statement and reserves no key, however many come', async () => {
    const database = await createFaultDatabase('postgres')
    const receiver = createFaultInbox(database)

    for (let i = 0; i < 2_000; i += 1) {
      const answer = await receiver.inbox.receive(
        'partner',
        forged({ key: i % 2 === 0 ? 'evt_1' : `evt_forged_${i}` }),
      )
      if (answer.status !== 401) expect(answer).toMatchObject({ status: 401 })
    }

    expect(receiver.statements).toEqual([])
    expect(receiver.pool!.totalCount).toBe(0)
    expect(await receiver.inbox.receive('partner', fromPartner({ key: 'evt_1' }))).toMatchObject({
      outcome: 'accepted',
    })
    expect(await database.count('events')).toBe(1)
  })

  test('R23: a valid signature of one source is worth nothing at another', async () => {
    const database = await createFaultDatabase('postgres')
    const receiver = createFaultInbox(database)

    expect(await receiver.inbox.receive('rival', fromPartner({ key: 'evt_next' }))).toMatchObject({
      status: 401,
    })
    expect(receiver.statements).toEqual([])
    expect(await receiver.inbox.receive('rival', fromRival({ key: 'evt_next' }))).toMatchObject({
      outcome: 'accepted',
    })
  })

  test('R30: a timestamp that is no timestamp is refused over HTTP, and leaves nothing', async () => {
    const database = await createFaultDatabase('sqlite')
    const receiver = await startSubject('receiver', { store: database.store })
    const { body } = fromStripe('evt_1')
    const now = Math.floor(Date.now() / 1_000)
    const timestamps = [
      'abc',
      '',
      '0x10',
      '1e3',
      `${now}junk`,
      `-${now}`,
      `${now}000`,
      '9223372036854775808',
      `${now},t=${now}`,
      ' ',
      `${now}.0`,
      'NaN',
    ]

    for (const timestamp of timestamps) {
      const { status } = await post(
        receiver.url,
        stripeSigned(body, `t=${timestamp},v1=${signature(timestamp, body)}`),
        { source: 'stripe' },
      )
      expect([400, 401], `for "${timestamp}"`).toContain(status)
    }
    const { status } = await post(receiver.url, stripeSigned(body, `v1=${signature('', body)}`), {
      source: 'stripe',
    })
    expect([400, 401]).toContain(status)
    expect(await database.count('events')).toBe(0)
    expect((await post(receiver.url, fromStripe('evt_1'), { source: 'stripe' })).status).toBe(200)
  })

  test('R31: a signature that is no signature is refused over HTTP, and leaves nothing', async () => {
    const database = await createFaultDatabase('sqlite')
    const receiver = await startSubject('receiver', { store: database.store })
    const { body } = fromStripe('evt_1')
    const t = String(Math.floor(Date.now() / 1_000))
    const real = signature(t, body)
    const many = Array.from({ length: 200 }, () => `v1=${'0'.repeat(64)}`).join(',')
    const headers = [
      'v1=',
      `v1=${real.slice(0, 32)}`,
      `v1=${real}00`,
      'v1=zz',
      many,
      `v0=${real}`,
      `sha1=${real}`,
      'v1=\u00e9\u00e9',
      `v1=${real.replace(/./, 'g')}`,
      '',
    ]

    for (const header of headers) {
      const { status } = await post(receiver.url, stripeSigned(body, `t=${t},${header}`), {
        source: 'stripe',
      })
      expect([400, 401], `for "${header.slice(0, 40)}"`).toContain(status)
    }
    expect(await database.count('events')).toBe(0)
    expect(
      (await post(receiver.url, stripeSigned(body, `t=${t},v1=${real}`), { source: 'stripe' }))
        .status,
    ).toBe(200)
  })

  test('R39: a signature header that comes twice is refused, and no value of it is taken', async () => {
    const database = await createFaultDatabase('postgres')
    const receiver = createFaultInbox(database)
    const { headers, ...delivery } = fromPartner({ key: 'evt_1' })
    for (const values of [
      [headers['x-signature'], 'evil'],
      ['evil', headers['x-signature']],
    ] as string[][]) {
      const twice = { ...delivery, headers: { ...headers, 'x-signature': values } }
      expect(await receiver.inbox.receive('partner', twice)).toMatchObject({ status: 400 })
    }
    expect(receiver.statements).toEqual([])
  })

  test('R26: an exact replay is a duplicate inside the tolerance and refused after it', async () => {
    const database = await createFaultDatabase('postgres')
    const receiver = createFaultInbox(database)
    const delivery = fromStripe('evt_1')
    expect(await receiver.inbox.receive('stripe', delivery)).toMatchObject({ outcome: 'accepted' })

    const replays = await Promise.all(
      Array.from({ length: 100 }, () => receiver.inbox.receive('stripe', delivery)),
    )
    const late = await receiver.inbox.receive('stripe', {
      ...delivery,
      receivedAt: new Date(delivery.receivedAt.getTime() + 302_000),
    })

    expect(new Set(replays.map(({ status, outcome }) => `${status} ${outcome}`))).toEqual(
      new Set(['200 duplicate']),
    )
    expect(late).toMatchObject({ status: 401 })
    expect(await database.count('events')).toBe(1)
  })

  const faketime = findFaketime()
  if (faketime === undefined) console.warn('*** libfaketime is not installed: R29 is SKIPPED. ***')
  test.skipIf(faketime === undefined)(
    'R29: a receiver whose clock is wrong refuses what looks stale, and says that its clock is wrong',
    async () => {
      const database = await createFaultDatabase('postgres')
      const env = {
        LD_PRELOAD: faketime ?? '',
        FAKETIME: '+600s',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      }
      const wrong = await startSubject('receiver', { store: database.store }, { env })
      const right = await startSubject('receiver', { store: database.store })

      expect((await post(wrong.url, fromStripe('evt_1'), { source: 'stripe' })).status).toBe(401)
      await wrong.untilHappened('clock.skewed')
      expect(await database.count('events')).toBe(0)
      expect((await post(right.url, fromStripe('evt_1'), { source: 'stripe' })).status).toBe(200)
      expect(right.countHappened('clock.skewed')).toBe(0)
    },
  )
})

function signature(timestamp: string, body: Uint8Array): string {
  return createHmac('sha256', STRIPE_SECRET).update(`${timestamp}.`).update(body).digest('hex')
}

function stripeSigned(body: Uint8Array, header: string): Delivery {
  return {
    method: 'POST',
    url: '/',
    headers: { 'stripe-signature': header },
    body,
    receivedAt: new Date(),
  }
}

function findFaketime(): string | undefined {
  for (const lib of existsSync('/usr/lib') ? readdirSync('/usr/lib') : []) {
    const file = `/usr/lib/${lib}/faketime/libfaketime.so.1`
    if (existsSync(file)) return file
  }
  return undefined
}
