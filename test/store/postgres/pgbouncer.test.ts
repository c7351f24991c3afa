import { describe, expect, test } from 'vitest'
import { aClaim, anEventDraft, NAMED } from '../../support/builders.ts'
import { sweepOthers } from '../../support/store-steps.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import type { Hearing } from '../../../src/store/contract/queue.ts'
import { findPgBouncer, startPgBouncer } from '../../support/postgres/start-pgbouncer.ts'

const binary = findPgBouncer()
if (binary === undefined) {
  const message = 'pgbouncer is not installed'
  if (process.env['CI'] === 'true' && process.env['HOOKONCE_REQUIRE_PGBOUNCER'] === '1')
    throw new Error(message)
  console.warn(`*** ${message}: the tests through a transaction pooler are SKIPPED. ***`)
}

describe.skipIf(hasNoPostgres || binary === undefined)(
  'behind PgBouncer in transaction mode',
  () => {
    test('C15: LISTEN is taken and nothing heard, which is told', async () => {
      const config = await startPgBouncer(String(binary), await createPostgresDatabase())
      const store = await openStoreOn({ ...config, max: 8 })
      const told: Hearing[] = []

      const stop = await new Promise<() => Promise<void>>((resolve) => {
        const listening = store.queue.listen(
          () => undefined,
          (hearing) => {
            told.push(hearing)
            resolve(listening)
          },
        )
      })

      expect(told).toEqual([{ isUp: false, error: expect.any(Error) as Error }])
      await stop()
    })

    test('events are stored, run, retried, swept and cancelled', async () => {
      const config = await startPgBouncer(String(binary), await createPostgresDatabase())
      const first = await openStoreOn({ ...config, max: 8 })
      const second = await openStoreOn({ ...config, max: 8 })
      const stop = await first.queue.listen(() => undefined)

      const drafts = Array.from({ length: 20 }, (_, n) => anEventDraft({ key: `evt_${n}` }))
      const answers = await Promise.all(
        [first, second].map((store) => store.events.record(drafts, { deadlineMs: 20_000 })),
      )
      expect(answers.flat().filter(({ status }) => status === 'accepted')).toHaveLength(20)

      const group = await first.queue.claim(aClaim({ limit: 19 }))
      await first.workers.announce({ workerId: 'worker-1', slot: 0 }, group!.events)
      const { rows } = await group!.lend().tx.query('select 1 as one')
      expect(rows).toEqual([{ one: 1 }])
      await group!.settle(
        group!.events.map(({ eventId, run, attempt }) => ({
          state: 'done',
          eventId,
          run,
          attempt,
          durationMs: 1,
          result: undefined,
        })),
      )
      expect(await group!.commit()).toEqual({ status: 'committed' })
      await first.workers.remove('worker-1')

      const last = await second.queue.claim(aClaim({ slot: { workerId: 'worker-2', slot: 0 } }))
      const [event] = last!.events
      await second.workers.announce({ workerId: 'worker-2', slot: 0 }, last!.events)
      // An error outside a mark would end the claim with everything else.
      await last!.setSavepoint('handler')
      const stuck = last!.lend().tx.query('select pg_sleep(600)')
      const stopped = stuck.catch((error: unknown) => error)
      let isStopped = false
      void stopped.then(() => (isStopped = true))
      while (!isStopped) await last!.cancel()
      expect(await stopped).toMatchObject({ code: '57014' })
      expect(await sweepOthers(first, { crashesMax: 3, me: 'worker-1' })).toEqual([])
      await last!.abandon()

      expect(await sweepOthers(first, { crashesMax: 3, me: 'worker-1' })).toEqual([
        {
          ...NAMED,
          key: event!.key,
          eventId: event!.eventId,
          attempt: 1,
          crashes: 1,
          dead: false,
          workerId: 'worker-2',
        },
      ])
      await first.queue.notify()
      await stop()
    })
  },
)
