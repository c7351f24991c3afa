import { describe, expect, test } from 'vitest'
import { permanent } from '../../src/model/handler-results.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { sign } from '../../src/testing/index.ts'
import { deliver, openInbox, SECRET } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What senders can rely on, on every store. Run by `test/inbox/<store>.test.ts`. */
export function receiveContract(store: StoreUnderTest): void {
  describe(`${store.name}: receive`, () => {
    test('the first delivery is accepted and the second is a duplicate of the same event', async () => {
      const { deliver } = await openInbox(store, { worker: false })

      const first = await deliver('evt_1')
      const second = await deliver('evt_1')

      expect(JSON.parse(first.body)).toEqual({ status: 'accepted', event: first.eventId })
      expect(JSON.parse(second.body)).toEqual({ status: 'duplicate', event: first.eventId })
    })

    test('a duplicate leaves a line in the log', async () => {
      const lines: { message: string; fields: unknown }[] = []
      const write = (fields: object, message: string) => void lines.push({ message, fields })
      const logger: Logger = { debug: write, info: write, warn: write, error: write }
      const { deliver } = await openInbox(store, { worker: false, logger })

      const { eventId } = await deliver('evt_1')
      await deliver('evt_1')

      expect(lines.filter(({ message }) => message === 'delivery.duplicate')).toMatchObject([
        { fields: { eventId, source: 'stripe', key: 'evt_1', from: 'store' } },
      ])
    })

    test('a storm is answered from memory once the key is known to be committed', async () => {
      const { inbox, deliver, next } = await openInbox(store, { worker: false })
      await inbox.start()
      await deliver('evt_1')

      // Memory holds for seconds after a beat: where the process stood still for longer, the store answers.
      await expect
        .poll(async () => {
          const duplicate = next('delivery.duplicate')
          expect((await deliver('evt_1')).outcome).toBe('duplicate')
          return (await duplicate).from
        })
        .toBe('memory')
    })

    test('memory gives way when another process forgets the event', async () => {
      const { inbox, another, deliver } = await openInbox(store, { worker: false })
      await inbox.start()
      const { eventId } = await deliver('evt_1')
      expect((await deliver('evt_1')).outcome).toBe('duplicate')

      const { admin } = another({ worker: false })
      await admin.discard(eventId as string, { reason: 'sent by mistake' })
      await admin.forget(eventId as string)

      // The heartbeat brings the news; until then the memory may still answer.
      let outcome: string
      do {
        await new Promise((resolve) => setImmediate(resolve))
        outcome = (await deliver('evt_1')).outcome
      } while (outcome === 'duplicate')
      expect(outcome).toBe('accepted')
    })

    test('a duplicate is answered while its event runs and new deliveries wait', async () => {
      const { inbox, deliver } = await openInbox(store, { receive: { rememberMax: 0 } })
      let release: () => void = () => undefined
      const running = new Promise<void>((resolve) => {
        inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
          await tx.query('insert into effects (event_key) values ($1)', [event.key])
          if (event.key !== 'evt_1') return
          resolve()
          await new Promise<void>((go) => (release = go))
        })
      })
      await inbox.start()
      await deliver('evt_1')
      await running
      const waiting = ['evt_2', 'evt_3', 'evt_4'].map((key) => deliver(key))

      const duplicate = await deliver('evt_1')

      // The handler has not been told to end: the answer did not wait for it.
      expect(duplicate).toMatchObject({ status: 200, outcome: 'duplicate' })
      release()
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200])
    })

    test('the same key with other content is a conflict, kept and not run', async () => {
      const { inbox, deliver, next } = await openInbox(store, { worker: false })
      await deliver('evt_1', { amount: 1 })
      const conflict = next('delivery.conflict')

      const answer = await deliver('evt_1', { amount: 2 })

      expect(answer).toMatchObject({ status: 200, outcome: 'conflict' })
      expect(await conflict).toMatchObject({ key: 'evt_1' })
      const events = await inbox.admin.listEventsByKey('stripe', 'evt_1')
      expect(events.map(({ state }) => state)).toEqual(['ready', 'conflict'])
    })

    test('two contents under one key at once make one event and one conflict', async () => {
      const { inbox, deliver } = await openInbox(store, { worker: false })

      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => deliver('evt_1', { amount: i % 2 })),
      )

      expect(answers.every(({ status }) => status === 200)).toBe(true)
      const outcomes = answers.map(({ outcome }) => outcome)
      expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1)
      expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(1)
      expect(await inbox.admin.listEventsByKey('stripe', 'evt_1')).toHaveLength(2)
    })

    test('a forged delivery is refused with one fixed body and leaves nothing', async () => {
      const { inbox, deliver } = await openInbox(store, { worker: false })
      const forged = sign('stripe', { key: 'evt_1' }, { secret: 'whsec_of_another_account' })

      const answer = await inbox.receive('stripe', forged)

      expect(answer).toMatchObject({ status: 401, body: '{"error":"unauthorized"}' })
      expect(await inbox.admin.countEvents()).toBe(0)
      expect((await deliver('evt_1')).outcome).toBe('accepted')
    })

    test('an unknown source is 404, another method 405, an encoded body 415, a large one 413', async () => {
      const { inbox } = await openInbox(store, { worker: false, receive: { bodyBytesMax: 2_000 } })
      const delivery = sign('stripe', {}, { secret: SECRET })

      const answers = await Promise.all([
        inbox.receive('unknown', delivery),
        inbox.receive('stripe', { ...delivery, method: 'PUT' }),
        inbox.receive('stripe', {
          ...delivery,
          headers: { ...delivery.headers, 'content-encoding': 'br' },
        }),
        inbox.receive('stripe', { ...delivery, body: new Uint8Array(2_001) }),
      ])

      expect(answers.map(({ status }) => status)).toEqual([404, 405, 415, 413])
      expect(await inbox.admin.countEvents()).toBe(0)
    })

    test('a security header that came twice is 400', async () => {
      const { inbox } = await openInbox(store, { worker: false })
      const delivery = sign('stripe', {}, { secret: SECRET })
      const signature = delivery.headers['stripe-signature'] as string

      const answer = await inbox.receive('stripe', {
        ...delivery,
        headers: { ...delivery.headers, 'stripe-signature': [signature, signature] },
      })

      expect(answer.status).toBe(400)
      expect(await inbox.admin.countEvents()).toBe(0)
    })

    test('a verified event without key is kept as quarantined and answered 200', async () => {
      const { inbox } = await openInbox(store, { worker: false })
      const delivery = sign('stripe', { body: '{"type":"ping"}' }, { secret: SECRET })

      const first = await inbox.receive('stripe', delivery)
      const second = await inbox.receive('stripe', delivery)

      expect(first).toMatchObject({ status: 200, outcome: 'quarantined' })
      expect(second).toMatchObject({ status: 200, outcome: 'duplicate', eventId: first.eventId })
      expect(await inbox.admin.findEvent(first.eventId as string)).toMatchObject({
        state: 'quarantined',
        reason: 'no key',
      })
    })

    test('the redelivery of a dead event runs it again', async () => {
      const { inbox, deliver, deliverUntil, next } = await openInbox(store)
      let runs = 0
      inbox.on('stripe', 'invoice.paid', () => {
        runs += 1
        if (runs === 1) throw permanent('the first time')
      })
      await inbox.start()
      await deliverUntil('evt_1', 'event.dead')
      const done = next('event.done')

      const answer = await deliver('evt_1')
      await done

      expect(answer.outcome).toBe('duplicate')
      expect(runs).toBe(2)
    })

    test("with redelivery: 'count' a dead event stays dead", async () => {
      const { inbox, deliver, deliverUntil } = await openInbox(store, {
        source: { redelivery: 'count' },
      })
      inbox.on('stripe', 'invoice.paid', () => {
        throw permanent('always')
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.dead')

      expect((await deliver('evt_1')).outcome).toBe('duplicate')

      expect(await inbox.admin.findEvent(eventId)).toMatchObject({ state: 'dead' })
    })

    test('the status of a success follows the source', async () => {
      const { deliver } = await openInbox(store, { worker: false, source: { status: 204 } })

      expect(await deliver('evt_1')).toMatchObject({ status: 204, body: '' })
    })

    test('deliveries are counted per event', async () => {
      const { inbox, deliver, store: reader } = await openInbox(store, { worker: false })
      const { eventId } = await deliver('evt_1')
      await deliver('evt_1')
      await deliver('evt_1')

      await inbox.stop()

      expect(await reader.operators.findEvent(eventId as string)).toMatchObject({ deliveries: 3 })
    })

    test('a stopped inbox answers 503', async () => {
      const { inbox, deliver } = await openInbox(store, { worker: false })
      await inbox.start()

      await inbox.stop()

      expect(await deliver('evt_1')).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    })

    test('two inboxes on one database store an event once', async () => {
      const { inbox, another } = await openInbox(store, { worker: false })
      const other = another({ worker: false })

      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) => deliver(i % 2 === 0 ? inbox : other, 'evt_1')),
      )

      expect(answers.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
      expect(new Set(answers.map(({ eventId }) => eventId)).size).toBe(1)
      expect(await inbox.admin.countEvents('stripe')).toBe(1)
    })
  })

  describe(`${store.name}: acknowledge: 'processed'`, () => {
    test('the answer carries what the handler returned, and a duplicate gets the same', async () => {
      const { inbox, deliver } = await openInbox(store, { source: { acknowledge: 'processed' } })
      inbox.on('stripe', 'invoice.paid', (event) => ({ seen: event.key }))
      await inbox.start()

      const first = await deliver('evt_1')
      const second = await deliver('evt_1')

      const event = first.eventId
      expect(JSON.parse(first.body)).toEqual({
        status: 'accepted',
        event,
        state: 'done',
        result: { seen: 'evt_1' },
      })
      expect(JSON.parse(second.body)).toEqual({
        status: 'duplicate',
        event,
        state: 'done',
        result: { seen: 'evt_1' },
      })
    })

    test('a failed attempt is answered 500, and the redelivery tries again at once', async () => {
      const { inbox, deliver } = await openInbox(store, {
        source: { acknowledge: 'processed' },
        // The worker is called, and does not have to look by itself.
        worker: { pollMs: 600_000 },
      })
      inbox.on(
        'stripe',
        'invoice.paid',
        { retry: { firstMs: 3_600_000 } },
        (_event, { attempt }) => {
          if (attempt === 1) throw new Error('not yet')
          return 'now'
        },
      )
      await inbox.start()

      const first = await deliver('evt_1')
      const second = await deliver('evt_1')

      expect(first).toMatchObject({ status: 500, outcome: 'failed' })
      expect(second.status).toBe(200)
      expect(JSON.parse(second.body)).toMatchObject({ result: 'now' })
    })

    test('past the deadline the answer is 503 and the event is kept', async () => {
      const { inbox, deliver } = await openInbox(store, {
        source: { acknowledge: 'processed' },
        worker: false,
        receive: { processedTimeoutMs: 30 },
      })

      const answer = await deliver('evt_1')

      expect(answer.status).toBe(503)
      expect(await inbox.admin.listEventsByKey('stripe', 'evt_1')).toMatchObject([
        { state: 'ready' },
      ])
    })

    test('a result that is no JSON stops the event and says so', async () => {
      const { inbox, deliver, next } = await openInbox(store, {
        source: { acknowledge: 'processed' },
      })
      inbox.on('stripe', 'invoice.paid', () => 10n)
      await inbox.start()
      const dead = next('event.dead')

      const answer = await deliver('evt_1')

      expect(answer.status).toBe(500)
      expect(await dead).toMatchObject({ error: { code: 'RESULT_INVALID' } })
    })
  })
}
