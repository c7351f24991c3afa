import { describe, expect, test } from 'vitest'
import type { Logger } from '../../src/telemetry/logger.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { TestInbox } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What is kept and told of failed attempts and crashes. Run by `test/inbox/<store>.test.ts`. */
export function failuresContract(store: StoreUnderTest): void {
  describe.each(['on', 'steps'] as const)(
    `${store.name}: a failure of a handler of %s`,
    (method) => {
      function register(inbox: TestInbox, name: string, run: () => never) {
        const options = { name, retry: { firstMs: 0, attemptsMax: 2 } }
        if (method === 'on') inbox.on('stripe', 'invoice.paid', options, run)
        else inbox.steps('stripe', 'invoice.paid', options, run)
      }

      /** As Drizzle throws: what was asked is in the message, and the reason only in the cause. */
      function failLikeAnOrm(): never {
        const reason = Object.assign(new Error('duplicate key value violates "one"'), {
          code: '23505',
          detail: 'Key (email)=(canary@example.com) already exists.',
        })
        throw new Error('Failed query: insert into t values ($1)\nparams: canary', {
          cause: reason,
        })
      }

      test('is kept with its handler, its place, its cause and its time', async () => {
        const { inbox, deliverUntil } = await openInbox(store)
        register(inbox, 'charge', failLikeAnOrm)
        await inbox.start()
        const before = Date.now()

        const { eventId } = await deliverUntil('evt_1', 'event.dead')

        const event = await inbox.admin.findEvent(eventId)
        expect(event?.failures).toHaveLength(2)
        for (const failure of event?.failures ?? []) {
          expect(failure).toMatchObject({
            reason: 'error',
            handler: 'charge',
            stack: expect.stringContaining('failLikeAnOrm') as string,
            cause: 'Error: duplicate key value violates "one" (23505)',
          })
          // The database may be another machine.
          expect(Math.abs(failure.failedAt.getTime() - before)).toBeLessThan(600_000)
          const startedAt = failure.startedAt?.getTime() ?? NaN
          expect(startedAt).toBeLessThanOrEqual(failure.failedAt.getTime())
          expect(Math.abs(startedAt - before)).toBeLessThan(600_000)
        }
        expect(event?.outcome?.startedAt?.getTime()).toBeLessThanOrEqual(
          event?.outcome?.settledAt.getTime() ?? NaN,
        )
        expect(event?.reason).toContain('Failed query')
        expect(event?.reason).toContain('caused by Error: duplicate key value')
        expect(JSON.stringify(event)).not.toContain('canary')
      })

      test('is a line with all of that', async () => {
        const lines: Record<string, unknown>[] = []
        const write: Logger['warn'] = (fields) => void lines.push(fields)
        const logger = { debug: () => {}, info: () => {}, warn: write, error: write }
        const { inbox, deliverUntil } = await openInbox(store, { logger })
        register(inbox, 'charge', failLikeAnOrm)
        await inbox.start()

        await deliverUntil('evt_1', 'event.dead')

        for (const happening of ['event.failed', 'event.dead']) {
          expect(lines.find((line) => line['happening'] === happening)).toMatchObject({
            source: 'stripe',
            key: 'evt_1',
            type: 'invoice.paid',
            handler: 'charge',
            error: {
              message: expect.stringContaining('Failed query') as string,
              stack: expect.stringContaining('failLikeAnOrm') as string,
              cause: { message: 'duplicate key value violates "one"', code: '23505' },
            },
          })
        }
        expect(JSON.stringify(lines)).not.toContain('canary')
      })
    },
  )

  describe(`${store.name}: a crash`, () => {
    test('is told by source, type, key and attempt; the next run has the same attempt and one crash more', async () => {
      const { inbox, deliver, next, database } = await openInbox(store, {
        worker: { deadAfterMs: 1_000 },
      })
      const { eventId = '' } = await deliver('evt_1')
      const died = database.newStore()
      await died.open()
      await died.announce({ workerId: 'died', slot: 0 }, [{ eventId, attempt: 1 }])
      await died.close()
      const seen: unknown[] = []
      inbox.on('stripe', 'invoice.paid', (_event, { attempt, crashes }) => {
        seen.push({ attempt, crashes })
        if (seen.length === 1) throw new Error('An attempt that fails')
      })
      const crashed = next('event.crashed')
      const failed = next('event.failed')
      await inbox.start()

      expect(await crashed).toMatchObject({
        eventId,
        source: 'stripe',
        type: 'invoice.paid',
        key: 'evt_1',
        attempt: 1,
        crashes: 1,
        dead: false,
      })
      await failed

      // The crash is no failed attempt, and the failed attempt no crash.
      expect(seen).toEqual([{ attempt: 1, crashes: 1 }])
      const event = await inbox.admin.findEvent(eventId)
      expect(event).toMatchObject({ attempts: 1, crashes: 1 })
      expect(event?.failures).toMatchObject([
        { attempt: 1, reason: 'crashed' },
        { attempt: 1, reason: 'error' },
      ])
    })
  })

  describe(`${store.name}: an inbox with handlers`, () => {
    const setUp = async (worker?: false) => {
      const lines: Record<string, unknown>[] = []
      const write: Logger['warn'] = (fields) => void lines.push(fields)
      const logger = { debug: () => {}, info: () => {}, warn: write, error: write }
      const opened = await openInbox(store, { logger, ...(worker === false && { worker }) })
      const warnings = () => lines.filter((line) => line['happening'] === 'worker.not-started')
      return { ...opened, warnings }
    }

    test('that was never started says so when an event is stored, once for many', async () => {
      const { inbox, deliver, warnings } = await setUp()
      inbox.on('stripe', 'invoice.paid', () => undefined)

      for (let n = 0; n < 5; n += 1) await deliver(`evt_${n}`)

      expect(warnings()).toMatchObject([
        { source: 'stripe', hint: expect.stringContaining('inbox.start()') as string },
      ])
    })

    test.each<[string, (inbox: TestInbox) => Promise<unknown>, false | undefined]>([
      ['that was started', (inbox) => inbox.start(), undefined],
      ['that only receives', async () => undefined, false],
    ])('%s says nothing', async (_what, prepare, worker) => {
      const { inbox, deliver, warnings } = await setUp(worker)
      inbox.on('stripe', 'invoice.paid', () => undefined)
      await prepare(inbox)

      await deliver('evt_1')

      expect(warnings()).toEqual([])
    })

    test('that has none after all says nothing', async () => {
      const { deliver, warnings } = await setUp()

      await deliver('evt_1')

      expect(warnings()).toEqual([])
    })
  })
}
