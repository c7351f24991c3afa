import { describe, expect, test } from 'vitest'
import { deliver, openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { TestInbox } from '../support/inbox-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const WRITE = 'insert into effects (event_key, note) values ($1, $2)'
const BAD = 'insert into no_such_table values ($1)'
const ONCE = { retry: { attemptsMax: 1 } }

/** What handlers can rely on when they write without waiting, on every store. Run by `test/inbox/<store>.test.ts`. */
export function writesContract(store: StoreUnderTest): void {
  describe(`${store.name}: tx.write`, () => {
    test('of one bad event among 300 costs its neighbours nothing', async () => {
      const { inbox, database, another } = await openInbox(store)
      await deliverMany(another({ worker: false }), 300)
      inbox.on('stripe', 'invoice.paid', ONCE, (event, { tx }) => {
        tx.write(WRITE, [event.key, 'first'])
        if (event.key === 'evt_177') tx.write(BAD, [event.key])
        tx.write(WRITE, [event.key, 'second'])
      })
      const dead = hearDead(inbox)
      const done = untilDone(inbox, 299)

      await inbox.start()
      await done
      const { key, error } = await dead

      expect(key).toBe('evt_177')
      expect(error?.message).toContain('no_such_table')
      const effects = await database.query(
        'select event_key, count(*) as found from effects group by event_key',
      )
      expect(effects).toHaveLength(299)
      expect(effects.filter(({ found }) => Number(found) !== 2)).toEqual([])
      expect(effects.map(({ event_key }) => event_key)).not.toContain('evt_177')
    })

    test('is for nothing when the handler throws', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', { retry: { firstMs: 0 } }, (event, { tx, attempt }) => {
        tx.write(WRITE, [event.key, 'noted'])
        if (attempt < 3) throw new Error('not yet')
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(await countEffects('evt_1')).toBe(1)
    })

    test('of several handlers is kept for all of them or for none', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const again = { retry: { firstMs: 0 } }
      inbox.on('stripe', 'invoice.*', again, (event, { tx }) => tx.write(WRITE, [event.key, 'one']))
      inbox.on('stripe', 'invoice.paid', again, (event, { tx, attempt }) => {
        tx.write(WRITE, [event.key, 'two'])
        if (attempt === 1) tx.write(BAD, [event.key])
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      expect((await done).attempt).toBe(2)

      expect(await countEffects('evt_1')).toBe(2)
    })

    test('is seen by the handlers that run after it in the same group', async () => {
      const { inbox, another, countEffects } = await openInbox(store, {
        worker: { concurrency: 1 },
      })
      await deliverMany(another({ worker: false }), 20)
      const seen: number[] = []
      inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
        tx.write(WRITE, [event.key, 'noted'])
        const { rows } = await tx.query('select count(*) as found from effects')
        seen.push(Number(rows[0]?.['found']))
      })
      const done = untilDone(inbox, 20)

      await inbox.start()
      await done

      expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
      expect(await countEffects()).toBe(20)
    })

    test('is done when the sender hears of it, and its failure is the answer', async () => {
      const { inbox, deliver, countEffects } = await openInbox(store, {
        source: { acknowledge: 'processed' },
      })
      inbox.on('stripe', 'invoice.paid', ONCE, (event, { tx }) => {
        tx.write(WRITE, [event.key, 'noted'])
        if (event.key === 'evt_bad') tx.write(BAD, [event.key])
        return { noted: event.key }
      })
      await inbox.start()

      const answer = await deliver('evt_1')
      const found = await countEffects('evt_1')
      const failed = await deliver('evt_bad')

      expect(JSON.parse(answer.body)).toMatchObject({ state: 'done', result: { noted: 'evt_1' } })
      expect(found).toBe(1)
      expect(failed).toMatchObject({ status: 500, outcome: 'failed' })
      expect(await countEffects('evt_bad')).toBe(0)
    })

    test('is refused after the handler has returned, and harms no other event', async () => {
      const { inbox, another, countEffects } = await openInbox(store, {
        worker: { concurrency: 1 },
      })
      await deliverMany(another({ worker: false }), 10)
      const codes: unknown[] = []
      let before: QueryTx | undefined
      inbox.on('stripe', 'invoice.paid', (event, { tx }) => {
        try {
          before?.write(WRITE, ['evt_late', 'late'])
        } catch (error) {
          codes.push((error as { code?: unknown }).code)
        }
        before = tx
        tx.write(WRITE, [event.key, 'noted'])
      })
      const done = untilDone(inbox, 10)

      await inbox.start()
      await done

      expect(codes).toEqual(Array.from({ length: 9 }, () => 'TX_REVOKED'))
      expect(await countEffects()).toBe(10)
      expect(await countEffects('evt_late')).toBe(0)
    })

    test('in a step is kept with the step, and fails with it', async () => {
      const { inbox, another, database } = await openInbox(store)
      await deliverMany(another({ worker: false }), 12)
      inbox.steps(
        'stripe',
        'invoice.paid',
        { retry: { firstMs: 1, factor: 1 } },
        async (event, step) => {
          await step.tx('first', (tx) => tx.write(WRITE, [event.key, 'first']))
          await step.tx('second', (tx) => {
            tx.write(WRITE, [event.key, 'second'])
            if (event.key === 'evt_5' && step.attempt === 1) tx.write(BAD, [event.key])
          })
        },
      )
      const failed: string[] = []
      inbox.events.on('event.failed', ({ key }) => failed.push(key))
      const done = untilDone(inbox, 12)

      await inbox.start()
      await done

      expect(failed).toEqual(['evt_5'])
      const effects = await database.query(
        'select event_key, note, count(*) as found from effects group by event_key, note',
      )
      expect(effects).toHaveLength(24)
      expect(effects.filter(({ found }) => Number(found) !== 1)).toEqual([])
    })

    test('of a plain handler beside a step handler is kept', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', { name: 'plain' }, (event, { tx }) =>
        tx.write(WRITE, [event.key, 'plain']),
      )
      inbox.steps('stripe', 'invoice.paid', { name: 'stepwise' }, async (event, step) => {
        await step.tx('write', (tx) => tx.write(WRITE, [event.key, 'step']))
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(await countEffects('evt_1')).toBe(2)
    })
  })
}

async function deliverMany(receiver: TestInbox, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, n) => deliver(receiver, `evt_${n}`)))
}

function hearDead(inbox: TestInbox): Promise<{ key: string; error: Error | undefined }> {
  return new Promise((resolve) => {
    inbox.events.on('event.dead', ({ key, error }) => resolve({ key, error }))
  })
}
