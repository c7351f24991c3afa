import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { RECEIVE_DEFAULTS } from '../../src/receive/options.ts'
import type { ReceiveOptions } from '../../src/receive/options.ts'
import { listSignedBatches } from '../providers/signed-batches.ts'
import { openStore } from '../support/store-under-test.ts'
import type { OpenedStore, StoreUnderTest } from '../support/store-under-test.ts'

const { eventsMax } = RECEIVE_DEFAULTS
/** Between what is linear (4) and what is quadratic (16). */
const GROWTH_MAX = 8
const FLOOR = { cpuMs: 50, bytes: 524_288 }

const batches = await listSignedBatches()
const plain = batches.filter(({ shape }) => shape === 'events')
const ownShapes = batches.filter(({ shape }) => !shape.startsWith('and ') && shape !== 'events')

/** What becomes of deliveries with many events, on every store. Run by `test/inbox/batches-<store>.test.ts`. */
export function batchesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: R60: a signed batch is stored in proportion to its size:`, () => {
    for (const { slug, shape, source, deliver } of [...plain, ...ownShapes]) {
      test(`${slug}, ${shape}`, async () => {
        const { receive, opened } = await openReceiver(underTest, source)
        const measure = async (delivery: Delivery) => {
          const before = { cpu: process.cpuUsage(), bytes: await measureBytes(opened) }
          const { outcome } = await receive(delivery)
          const { user, system } = process.cpuUsage(before.cpu)
          expect(outcome).toBe('accepted')
          const bytes = (await measureBytes(opened)) - before.bytes
          return { cpuMs: (user + system) / 1_000, bytes }
        }

        const small = await measure(deliver(eventsMax / 4))
        await emptyTables(opened)
        const large = await measure(deliver(eventsMax))

        expect(await opened.store.operators.countEvents()).toBe(eventsMax)
        expect(large.cpuMs).toBeLessThan(GROWTH_MAX * Math.max(small.cpuMs, FLOOR.cpuMs))
        expect(large.bytes).toBeLessThan(GROWTH_MAX * Math.max(small.bytes, FLOOR.bytes))
      })
    }
  })

  describe(`${underTest.name}: R61: a delivery with more events than receive.eventsMax`, () => {
    for (const { slug, source, deliver } of plain) {
      test(`is kept whole and not run: ${slug}`, async () => {
        const { receive, opened } = await openReceiver(underTest, source, { eventsMax: 4 })
        const delivery = deliver(5)
        const kept = source.redactBody?.(delivery) ?? delivery.body

        const first = await receive(delivery)
        const again = await receive(delivery)

        expect(first).toMatchObject({ status: source.success.status, outcome: 'quarantined' })
        expect(again).toMatchObject({ outcome: 'duplicate', eventId: first.eventId })
        const event = await opened.store.operators.findEvent(first.eventId ?? '')
        expect(event).toMatchObject({
          state: 'quarantined',
          reason: 'too many events',
          key: undefined,
          type: 'unknown',
        })
        expect(Buffer.from(event?.body ?? [])).toEqual(Buffer.from(kept))
        expect(await opened.store.operators.countEvents()).toBe(1)
      })
    }

    test('is one event, be it a megabyte of numbers', async () => {
      const { source, deliver } = find('sendgrid')
      const trusting: Source = { ...source, verify: () => ({ ok: true, secret: '1' }) }
      const { receive, opened } = await openReceiver(underTest, trusting)
      const delivery = { ...deliver(1), body: Buffer.from(`[${'1,'.repeat(500_000)}1]`) }

      const answer = await receive(delivery)

      expect(answer.outcome).toBe('quarantined')
      expect(await opened.store.operators.countEvents()).toBe(1)
    })

    test('is one whose source counts for itself as well', async () => {
      const events = Array.from({ length: 5 }, (_, n) => ({ key: String(n), type: 'n' }))
      const { source, deliver } = find('sendgrid')
      const byHand: Source = { ...source, identify: () => events }
      const { receive, opened } = await openReceiver(underTest, byHand, { eventsMax: 4 })

      expect(await receive(deliver(1))).toMatchObject({ outcome: 'quarantined' })
      expect(await opened.store.operators.countEvents()).toBe(1)
    })
  })

  describe(`${underTest.name}: the request of several events`, () => {
    test('is found as it came from each of them, and is verified again', async () => {
      const { source, deliver } = find('sendgrid')
      const { receive, inbox } = await openReceiver(underTest, source)
      const delivery = deliver(3)

      const { eventId = '' } = await receive(delivery)

      const request = await inbox.admin.findRequest(eventId)
      expect(Buffer.from(request ?? [])).toEqual(Buffer.from(delivery.body))
      expect(await inbox.admin.findEvent(eventId)).not.toMatchObject({ body: delivery.body })
      expect(source.verify({ ...delivery, body: request ?? new Uint8Array() })).toMatchObject({
        ok: true,
      })
    })

    test('is kept without the secrets that came in it', async () => {
      const { source, deliver } = find('microsoft_graph')
      const { receive, inbox } = await openReceiver(underTest, source)
      const delivery = deliver(2)
      const secret = /"clientState":"([^"]+)"/.exec(Buffer.from(delivery.body).toString())?.[1]

      const { eventId = '' } = await receive(delivery)

      const request = Buffer.from((await inbox.admin.findRequest(eventId)) ?? []).toString()
      expect(secret).toBeTruthy()
      expect(request).not.toContain(secret)
      expect((JSON.parse(request) as { value: object[] }).value).toMatchObject([
        { clientState: '' },
        { clientState: '' },
      ])
    })
  })
}

function find(slug: string) {
  const batch = batches.find((one) => one.slug === slug)
  if (batch === undefined) throw new Error(`${slug} has no batches`)
  return batch
}

async function openReceiver(
  underTest: StoreUnderTest,
  source: Source,
  receive: ReceiveOptions = {},
) {
  const opened = await openStore(underTest)
  const quiet = () => undefined
  const inbox = createInbox({
    store: opened.database.newStore(),
    sources: { source },
    worker: false,
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    // Ten thousand at once on a machine that has much else to do.
    receive: { bodyBytesMax: 16_777_216, answerTimeoutMs: 50_000, ...receive },
  })
  onTestFinished(() => inbox.stop())
  return { opened, inbox, receive: (delivery: Delivery) => inbox.receive('source', delivery) }
}

const TABLES = ['keys', 'events', 'queue', 'requests']

/** Of all tables and indexes. */
async function measureBytes({ store, database }: OpenedStore): Promise<number> {
  const sql =
    store.engine === 'sqlite'
      ? `select (select page_count from pragma_page_count) * page_size - (select freelist_count from
         pragma_freelist_count) * page_size as bytes from pragma_page_size`
      : `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c
          where c.relnamespace = 'hookonce'::regnamespace and c.relkind = 'r'`
  const [row] = await database.query(sql)
  return Number(row?.['bytes'])
}

/** So that the next delivery is new in all its events, and finds as little as the one before. */
async function emptyTables({ store, database }: OpenedStore): Promise<void> {
  for (const table of TABLES)
    await database.query(
      store.engine === 'sqlite'
        ? `delete from hookonce_${table}`
        : `truncate hookonce.${table} cascade`,
    )
}
