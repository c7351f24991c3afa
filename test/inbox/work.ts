import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { permanent, retryAfter, skip } from '../../src/model/handler-results.ts'
import type { HandlerContext } from '../../src/work/handler-context.ts'
import { sign } from '../../src/testing/index.ts'
import { deliver, openInbox, SECRET, untilDone } from '../support/inbox-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

/** What handlers can rely on, on every store. Run by `test/inbox/<store>.test.ts`. */
export function workContract(store: StoreUnderTest): void {
  describe(`${store.name}: work`, () => {
    test('a handler runs once for an event that is delivered twenty times at once', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', note)
      await inbox.start()
      const done = next('event.done')

      const answers = await Promise.all(Array.from({ length: 20 }, () => deliver('evt_1')))
      await done
      await inbox.stop()

      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
      expect(answers.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a handler that throws leaves nothing behind and runs again', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      const attempts: number[] = []
      inbox.on('stripe', 'invoice.paid', { retry: { firstMs: 0 } }, async (event, context) => {
        expect(context.isReplay).toBe(false)
        attempts.push(context.attempt)
        await note(event, context)
        if (context.attempt < 3) throw new Error('not yet')
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(attempts).toEqual([1, 2, 3])
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('one bad event in a group costs its neighbours nothing', async () => {
      const { inbox, countEffects, another } = await openInbox(store)
      const receiver = another({ worker: false })
      for (let i = 0; i < 30; i += 1) await deliver(receiver, `evt_${i}`)
      inbox.on('stripe', 'invoice.paid', async (event, context) => {
        await note(event, context)
        if (event.key === 'evt_13') throw permanent('thirteen')
      })
      const dead = new Promise<string>((resolve) =>
        inbox.events.on('event.dead', ({ key }) => resolve(key)),
      )
      const done = untilDone(inbox, 29)

      await inbox.start()
      await Promise.all([dead, done])

      expect(await dead).toBe('evt_13')
      expect(await countEffects()).toBe(29)
      expect(await countEffects('evt_13')).toBe(0)
    })

    test('an event that runs again does not wait until there are no new ones', async () => {
      const { inbox, another } = await openInbox(store, {
        worker: { concurrency: 1, groupMax: 1 },
      })
      const receiver = another({ worker: false })
      await Promise.all(Array.from({ length: 40 }, (_, i) => deliver(receiver, `evt_${i}`)))
      let ran = 0
      let culprit = ''
      const ranAgain = new Promise<string>((resolve) => {
        inbox.on(
          'stripe',
          'invoice.paid',
          { retry: { firstMs: 0 } },
          async (event, { attempt }) => {
            ran += 1
            if (attempt > 1) return resolve(event.key)
            // For each one that runs a new one comes, so there are always as many that wait.
            await deliver(receiver, `new_${ran}`)
            // By then the worker has looked for what runs again, and found nothing.
            if (ran === 20) culprit = event.key
            if (event.key === culprit) throw new Error('not yet')
          },
        )
      })

      await inbox.start()

      const again = await ranAgain

      expect(culprit).not.toBe('')
      expect(again).toBe(culprit)
    })

    test('permanent(reason) makes the event dead at once, with the reason', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', () => {
        throw permanent('the amount is negative')
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.dead')

      const event = await inbox.admin.findEvent(eventId)
      expect(event).toMatchObject({ state: 'dead', attempts: 1 })
      expect(event?.reason).toContain('the amount is negative')
      expect(await inbox.admin.listDead()).toHaveLength(1)
    })

    test('the last attempt that fails makes the event dead, with every failure kept', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', { retry: { firstMs: 0, attemptsMax: 3 } }, () => {
        throw new TypeError('no such customer')
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.dead')

      const event = await inbox.admin.findEvent(eventId)
      expect(event?.state).toBe('dead')
      expect(
        event?.failures.map(({ attempt, reason, message }) => ({ attempt, reason, message })),
      ).toEqual(
        [1, 2, 3].map((attempt) => ({
          attempt,
          reason: 'error',
          message: 'TypeError: no such customer',
        })),
      )
    })

    test('skip(reason) ends the event as skipped', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', () => skip('not one of ours'))
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.skipped')

      expect(await inbox.admin.findEvent(eventId)).toMatchObject({
        state: 'skipped',
        reason: 'not one of ours',
      })
    })

    test('retryAfter(ms) decides when the event runs again', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', () => {
        throw retryAfter(3_600_000)
      })
      await inbox.start()
      const failed = next('event.failed')

      const { eventId } = await deliver('evt_1')

      expect(await failed).toMatchObject({ retryInMs: 3_600_000 })
      const event = await inbox.admin.findEvent(eventId as string)
      expect(event).toMatchObject({ state: 'ready', attempts: 1 })
      expect(Number(event?.nextRunAt)).toBeGreaterThan(Date.now() + 1_800_000)
    })

    test('H20: several handlers of one event are one unit: all of their writes, or none', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      inbox.on('stripe', 'invoice.*', { retry: { firstMs: 0 } }, note)
      inbox.on('stripe', 'invoice.paid', { retry: { firstMs: 0 } }, async (event, context) => {
        if (context.attempt === 1) throw new Error('the second handler fails first')
        await note(event, context)
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(await countEffects('evt_1')).toBe(2)
    })

    test('H20: several step handlers of one event end together, and no step is taken twice', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      const options = { retry: { firstMs: 0 } }
      const ran: string[] = []
      inbox.steps('stripe', 'invoice.*', options, async (event, step) => {
        await step.tx('note', (tx) => {
          ran.push('first')
          return note(event, { tx })
        })
      })
      inbox.steps('stripe', 'invoice.paid', options, async (event, step) => {
        await step.tx('note', (tx) => {
          ran.push('second')
          if (ran.length === 2) throw new Error('the second handler fails first')
          return note(event, { tx })
        })
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(ran).toEqual(['first', 'second', 'second'])
      expect(await countEffects('evt_1')).toBe(2)
    })

    test('an event without handler waits as unhandled and runs when a handler appears', async () => {
      const { inbox, deliverUntil, next, countEffects } = await openInbox(store)
      inbox.on('stripe', 'customer.*', note)
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.unhandled')
      expect(await inbox.admin.findEvent(eventId)).toMatchObject({ state: 'unhandled' })
      const done = next('event.done')

      inbox.on('stripe', ['invoice.paid', 'invoice.voided'], note)
      await done

      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a worker that lacks a handler leaves the event to one that has it', async () => {
      const { inbox, another, deliver, countEffects } = await openInbox(store)
      const newer = another()
      inbox.on('stripe', 'customer.*', note)
      newer.on('stripe', 'invoice.paid', note)
      await inbox.start()
      await deliver('evt_1')
      const done = new Promise<void>((resolve) => newer.events.on('event.done', () => resolve()))

      await newer.start()
      await done

      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a payload that does not fit the schema is dead at once, with the path', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      const schema = z.object({ data: z.object({ object: z.object({ amount: z.string() }) }) })
      inbox.on('stripe', 'invoice.paid', { schema }, (event) => event.payload.data.object.amount)
      await inbox.start()

      const dead = await deliverUntil('evt_1', 'event.dead')

      expect(dead).toMatchObject({ error: { code: 'PAYLOAD_INVALID' } })
      expect(dead.reason).toContain('data.object.amount')
    })

    test('a body that is not JSON is dead after the first attempt when the handler asks for its payload', async () => {
      const { inbox, deliverBytes, next } = await openInbox(store)
      inbox.on('pings', '*', (event) => event.payload)
      await inbox.start()
      const dead = next('event.dead')

      const { eventId } = await deliverBytes('p1', 'ping')
      await dead

      const event = await inbox.admin.findEvent(eventId as string)
      expect(event?.failures).toMatchObject([{ attempt: 1, reason: 'payload' }])
    })

    test('a byte order mark is in the bytes and no part of the payload', async () => {
      const { inbox, deliverBytes, next } = await openInbox(store)
      const seen: unknown[] = []
      inbox.on('pings', '*', (event) => {
        seen.push(event.payload, Buffer.from(event.body).toString('hex'))
      })
      await inbox.start()
      const done = next('event.done')
      const body = Buffer.from('\ufeff{"a":"é\ufeff"}')

      await deliverBytes('p1', body)
      await done

      expect(seen).toEqual([{ a: 'é\ufeff' }, body.toString('hex')])
    })

    test('a body that is not UTF-8 is said to be that', async () => {
      const { inbox, deliverBytes, next } = await openInbox(store)
      inbox.on('pings', '*', (event) => event.payload)
      await inbox.start()
      const dead = next('event.dead')

      await deliverBytes('p1', Buffer.from([0x22, 0xc3, 0x28, 0x22]))

      expect((await dead).error?.message).toContain('not UTF-8')
    })

    test('a handler that reads the bytes is not bothered by a body that is not JSON', async () => {
      const { inbox, deliverBytes, next } = await openInbox(store)
      const seen: Uint8Array[] = []
      inbox.on('pings', '*', (event) => void seen.push(event.body))
      await inbox.start()
      const done = next('event.done')

      await deliverBytes('p1', new Uint8Array([0xff, 0x00, 0xfe]))
      await done

      expect(seen.map((bytes) => [...bytes])).toEqual([[0xff, 0x00, 0xfe]])
    })

    test('the idempotency key is the same for every attempt and differs by name', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      const keys: string[][] = []
      inbox.on(
        'stripe',
        'invoice.paid',
        { retry: { firstMs: 0 } },
        (_event, { attempt, idempotencyKey }) => {
          keys.push([idempotencyKey('charge'), idempotencyKey('mail'), idempotencyKey()])
          if (attempt === 1) throw new Error('again')
        },
      )
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(keys[0]).toEqual(keys[1])
      expect(new Set(keys[0]).size).toBe(3)
      expect(keys[0]?.every((key) => key.length <= 255)).toBe(true)
    })

    test('R19: one id in two modes of a sender is two events with two idempotency keys', async () => {
      const { inbox, next } = await openInbox(store)
      const keys = new Set<string>()
      inbox.on(
        'stripe',
        'invoice.paid',
        (_event, { idempotencyKey }) => void keys.add(idempotencyKey('charge')),
      )
      await inbox.start()

      for (const livemode of [true, false]) {
        const done = next('event.done')
        const body = JSON.stringify({
          id: 'evt_1',
          type: 'invoice.paid',
          livemode,
          data: { object: {} },
        })
        await inbox.receive('stripe', sign('stripe', { body }, { secret: SECRET }))
        await done
      }

      expect(keys.size).toBe(2)
    })

    test('a type as long as a page of the database, which no handler takes, stops no other event', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const type = randomBytes(4_000).toString('base64')
      inbox.on('stripe', 'invoice.paid', note)
      const unhandled = next('event.unhandled')
      const done = next('event.done')

      await deliver('evt_1', { type })
      await deliver('evt_2')
      await inbox.start()

      expect((await unhandled).type).toBe(type)
      await done
      expect(await countEffects('evt_2')).toBe(1)
    })

    test('what a worker without any handler finds is run by one that has it, parked or not', async () => {
      const { inbox, another, deliver } = await openInbox(store)
      const other = another()
      other.on('stripe', 'invoice.paid', () => undefined)
      await inbox.start()
      const { eventId } = await deliver('evt_1')
      // No living worker could run it, so that it may be parked by now.
      const found = await inbox.admin.findEvent(eventId as string)
      expect(['ready', 'unhandled']).toContain(found?.state)
      const done = new Promise<void>((resolve) => other.events.on('event.done', () => resolve()))

      await other.start()
      await done

      expect(await inbox.admin.findEvent(eventId as string)).toMatchObject({ state: 'done' })
    })

    test('a schema that never answers is a handler past its time', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      const validate = () => new Promise<never>(() => undefined)
      const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
      inbox.on('stripe', 'invoice.paid', { schema, timeoutMs: 50 }, () => undefined)
      await inbox.start()

      const failed = await deliverUntil('evt_1', 'event.failed')

      expect(failed).toMatchObject({ reason: 'timeout' })
    })

    test('a handler past its time gets the signal, loses its writes and runs again', async () => {
      const { inbox, deliverUntil, next, countEffects } = await openInbox(store)
      const reasons: unknown[] = []
      inbox.on(
        'stripe',
        'invoice.paid',
        { timeoutMs: 300, retry: { firstMs: 0 } },
        async (event, context) => {
          if (context.attempt > 1) return note(event, context)
          const aborted = new Promise<void>((resolve) => {
            context.signal.addEventListener('abort', () => {
              reasons.push(context.signal.reason)
              resolve()
            })
          })
          await note(event, context)
          await aborted
        },
      )
      await inbox.start()
      const failed = next('event.failed')

      await deliverUntil('evt_1', 'event.done')

      expect(await failed).toMatchObject({ reason: 'timeout', error: { code: 'HANDLER_TIMEOUT' } })
      expect(reasons).toMatchObject([{ code: 'HANDLER_TIMEOUT' }])
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('an at-least-once handler has no tx, and its event is done once it returned', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      const errors: unknown[] = []
      inbox.on('stripe', 'invoice.paid', { guarantee: 'at-least-once' }, (_event, context) => {
        try {
          Reflect.get(context, 'tx')
        } catch (error) {
          errors.push(error)
        }
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.done')

      expect(errors).toMatchObject([{ code: 'TRANSACTION_EXPECTED' }])
      expect(await inbox.admin.findEvent(eventId)).toMatchObject({ state: 'done' })
    })

    test('one at-least-once handler that fails does not repeat its neighbours', async () => {
      const { inbox, another } = await openInbox(store)
      const receiver = another({ worker: false })
      for (let i = 0; i < 10; i += 1) await deliver(receiver, `evt_${i}`)
      const runs: string[] = []
      inbox.on('stripe', 'invoice.paid', { guarantee: 'at-least-once' }, (event) => {
        runs.push(event.key)
        if (event.key === 'evt_3') throw permanent('three')
      })
      const dead = new Promise<void>((resolve) => inbox.events.on('event.dead', () => resolve()))
      const done = untilDone(inbox, 9)

      await inbox.start()
      await Promise.all([dead, done])

      expect(runs).toHaveLength(10)
      expect(new Set(runs).size).toBe(10)
    })

    test('stop() waits for a running handler and keeps what it wrote', async () => {
      const { inbox, deliver, countEffects } = await openInbox(store)
      let release: () => void = () => undefined
      const started = new Promise<void>((resolve) => {
        inbox.on('stripe', 'invoice.paid', async (event, context) => {
          await note(event, context)
          resolve()
          await new Promise<void>((go) => (release = go))
        })
      })
      await inbox.start()
      await deliver('evt_1')
      await started

      const stopping = inbox.stop()
      release()
      await stopping

      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a handler that outlives the grace period is rolled back without a lost attempt', async () => {
      const {
        inbox,
        deliver,
        countEffects,
        store: reader,
      } = await openInbox(store, { worker: { stopGraceMs: 0 } })
      const started = new Promise<void>((resolve) => {
        inbox.on('stripe', 'invoice.paid', async (event, context) => {
          await note(event, context)
          resolve()
          await new Promise(() => undefined)
        })
      })
      await inbox.start()
      const { eventId } = await deliver('evt_1')
      await started

      await inbox.stop()

      expect(await countEffects('evt_1')).toBe(0)
      expect(await reader.operators.findEvent(eventId as string)).toMatchObject({
        state: 'ready',
        attempts: 0,
        failures: [],
      })
    })

    test('stop() during start() stops what was started, and every stop() waits for the end', async () => {
      const { inbox, deliver } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', note)
      const stopped: string[] = []
      inbox.events.on('worker.stopped', () => stopped.push('worker'))

      const starting = inbox.start()
      const stopping = inbox.stop().then(() => stopped.push('first stop'))
      await inbox.stop()
      stopped.push('second stop')
      await Promise.all([starting, stopping])

      expect(stopped[0]).toBe('worker')
      expect(new Set(stopped)).toEqual(new Set(['worker', 'first stop', 'second stop']))
      expect((await deliver('evt_1')).status).toBe(503)
    })

    test('a dead event that is retried runs again', async () => {
      const { inbox, deliverUntil, next, countEffects } = await openInbox(store)
      let isFixed = false
      inbox.on('stripe', 'invoice.paid', async (event, context) => {
        if (!isFixed) throw permanent('a bug')
        await note(event, context)
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.dead')
      isFixed = true
      const done = next('event.done')

      expect(await inbox.admin.retry(eventId)).toMatchObject({ status: 'done', run: 0 })
      await done

      expect(await countEffects('evt_1')).toBe(1)
      expect(await inbox.admin.retry(eventId)).toMatchObject({ code: 'EVENT_DONE' })
    })
  })
}

/** Writes one row, so that a second run would show. */
async function note(
  event: { readonly key: string },
  { tx }: Pick<HandlerContext<QueryTx>, 'tx'>,
): Promise<void> {
  await tx.query('insert into effects (event_key, note) values ($1, $2)', [event.key, 'noted'])
}
