import { describe, expect, test } from 'vitest'
import { permanent } from '../../src/model/handler-results.ts'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest, TestInbox } from '../support/inbox-under-test.ts'
import { WRITE } from '../support/step-handlers.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const EVER = new Date(0)
const always = (): boolean => true
const WHY = { reason: 'the table was restored', actor: 'ada' }

/** Done events are compared with the user's own tables. Run by `test/inbox/<store>.test.ts`. */
export function reconcileContract(store: StoreUnderTest): void {
  describe(`${store.name}: reconcile`, () => {
    test('lists the done events whose effect is missing, and changes nothing', async () => {
      const opened = await openInbox(store)
      const { inbox, database, countEffects } = opened
      const ids = await runAll(opened, ['a', 'b', 'c'])
      await database.query("delete from effects where event_key <> 'b'")

      const report = await inbox.reconcile({ since: EVER, exists: isWritten })

      expect(report).toMatchObject({
        lookedAt: 3,
        missing: 2,
        replayed: 0,
        failed: 0,
        withoutPayload: 0,
        isComplete: true,
      })
      expect(report.missingEvents).toEqual([
        {
          eventId: ids[0],
          source: 'stripe',
          key: 'a',
          type: 'invoice.paid',
          receivedAt: expect.any(Date),
          replay: undefined,
        },
        expect.objectContaining({ eventId: ids[2], key: 'c' }),
      ])
      expect(await countEffects()).toBe(1)
      expect(await inbox.admin.listAudit()).toEqual([])
    })

    test('replays them when it is told to, each once, however often and at once', async () => {
      const opened = await openInbox(store)
      const { inbox, database, countEffects } = opened
      const keys = Array.from({ length: 60 }, (_, nth) => `evt_${nth}`)
      await runAll(opened, keys)
      await database.query('delete from effects')
      const other = opened.another({ worker: false })
      const again = untilDone(inbox, keys.length)
      const options = { since: EVER, exists: isWritten, rerun: WHY }

      const reports = await Promise.all([inbox.reconcile(options), other.reconcile(options)])
      await again

      expect(reports.map(({ failed }) => failed)).toEqual([0, 0])
      expect(await countEffects()).toBe(keys.length)
      for (const key of keys) expect(await countEffects(key)).toBe(1)
      expect(await inbox.reconcile(options)).toMatchObject({ missing: 0, lookedAt: keys.length })
      expect(await inbox.admin.listAudit({ limit: 1 })).toMatchObject([
        { action: 'replay', ...WHY },
      ])
    })

    test('that has looked before another one has replayed does not replay what has run since', async () => {
      const opened = await openInbox(store)
      const { inbox, database, countEffects } = opened
      const [eventId = ''] = await runAll(opened, ['a'])
      await database.query('delete from effects')
      const other = opened.another({ worker: false })
      let hasLooked = (): void => undefined
      let openGate = (): void => undefined
      const looked = new Promise<void>((resolve) => (hasLooked = resolve))
      const gate = new Promise<void>((resolve) => (openGate = resolve))

      const slow = other.reconcile({
        since: EVER,
        rerun: WHY,
        exists: async (event, tx) => {
          const found = await isWritten(event, tx)
          hasLooked()
          await gate
          return found
        },
      })
      await looked
      const done = untilDone(inbox, 1)
      await inbox.reconcile({ since: EVER, rerun: WHY, exists: isWritten })
      await done
      openGate()

      expect(await slow).toMatchObject({ missing: 1, replayed: 1 })
      expect(await inbox.admin.listRuns(eventId)).toHaveLength(1)
      expect(await inbox.admin.findEvent(eventId)).toMatchObject({ state: 'done' })
      expect(await countEffects('a')).toBe(1)
    })

    test('before the inbox is started replays what runs when it is', async () => {
      const opened = await openInbox(store)
      const [eventId] = await runAll(opened, ['a'])
      await opened.database.query('delete from effects')
      await opened.inbox.stop()
      const later = opened.another()
      later.on('stripe', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'again']))

      const report = await later.reconcile({ since: EVER, exists: isWritten, rerun: WHY })
      expect(report.missingEvents).toMatchObject([{ eventId, replay: { status: 'done', run: 1 } }])
      expect(await opened.countEffects()).toBe(0)

      const done = untilDone(later, 1)
      await later.start()
      await done
      expect(await opened.countEffects('a')).toBe(1)
    })

    test('looks at what it was asked for: by source, type and time', async () => {
      const opened = await openInbox(store)
      const { inbox } = opened
      await runAll(opened, ['a'])
      const [eventId] = await runAll(opened, ['b'], 'invoice.voided')
      const { receivedAt } = (await inbox.admin.findEvent(eventId ?? '')) ?? { receivedAt: EVER }
      const exists = () => false
      const look = async (options: object) => {
        const report = await inbox.reconcile({ since: EVER, exists, ...options })
        return report.missingEvents.map(({ key }) => key)
      }

      expect(await look({})).toEqual(['a', 'b'])
      expect(await look({ types: ['invoice.v*'] })).toEqual(['b'])
      expect(await look({ source: 'pings' })).toEqual([])
      expect(await look({ source: 'stripe', types: ['invoice.paid'] })).toEqual(['a'])
      expect(await look({ since: new Date(receivedAt.getTime() + 3_600_000) })).toEqual([])
      expect(await look({ until: new Date(receivedAt.getTime() - 3_600_000) })).toEqual([])
    })

    test('leaves what is not done alone, and counts what has no payload any more', async () => {
      const opened = await openInbox(store)
      const { inbox, deliver, next } = opened
      const [erased] = await runAll(opened, ['erased'])
      await inbox.admin.erase(erased ?? '', { reason: 'asked for' })
      const died = next('event.dead')
      await deliver('dead', { type: 'dies' })
      await died

      const asked: string[] = []
      const report = await inbox.reconcile({
        since: EVER,
        exists: (event) => asked.push(event.key) > 0,
      })

      expect(asked).toEqual([])
      expect(report).toMatchObject({ lookedAt: 0, missing: 0, withoutPayload: 1 })
    })

    test.each([
      ['throws', () => Promise.reject(new Error('a bug of theirs'))],
      ['fails in the database', (tx: QueryTx) => tx.query('select * from no_such_table')],
      ['gives nothing', () => undefined],
      ['writes', (tx: QueryTx) => tx.query(WRITE, ['x', 'x'])],
    ])('an exists that %s is told of its event, and the others go on', async (_, spoil) => {
      const opened = await openInbox(store)
      const { inbox, countEffects } = opened
      const ids = await runAll(opened, ['a', 'b', 'c'])

      const report = await inbox.reconcile({
        since: EVER,
        exists: (event, tx) =>
          event.key === 'b' ? (spoil(tx) as unknown as Promise<boolean>) : isWritten(event, tx),
        rerun: WHY,
      })

      expect(report).toMatchObject({ lookedAt: 3, missing: 0, failed: 1, isComplete: true })
      expect(report.failedEvents).toEqual([{ eventId: ids[1], error: expect.any(Error) }])
      expect(await countEffects()).toBe(3)
    })

    test.skipIf(!store.capabilities.failedStatementAborts)(
      'an exists that catches a failure of the database, which spoils its tx, has not answered',
      async () => {
        const opened = await openInbox(store)
        const [eventId] = await runAll(opened, ['a', 'b'])

        const report = await opened.inbox.reconcile({
          since: EVER,
          exists: async (event, tx) => {
            if (event.key === 'b') return isWritten(event, tx)
            return tx.query('select * from no_such_table').then(
              () => true,
              () => false,
            )
          },
        })

        expect(report).toMatchObject({ lookedAt: 2, missing: 0, failedEvents: [{ eventId }] })
      },
    )

    test('gives exists the event as its last run has seen it', async () => {
      const opened = await openInbox(store)
      const { inbox, next } = opened
      const [eventId = ''] = await runAll(opened, ['a'])
      const done = next('event.done')
      await inbox.admin.replay(eventId, { ...WHY, body: '{"fixed":true}' })
      await done
      const seen: unknown[] = []

      await inbox.reconcile({
        since: EVER,
        source: 'stripe',
        exists: (event) => {
          seen.push({ id: event.id, payload: event.payload, isModified: event.isModified })
          return true
        },
      })

      expect(seen).toEqual([{ id: eventId, payload: { fixed: true }, isModified: true }])
    })

    test('is broken off by its signal, between two events', async () => {
      const opened = await openInbox(store)
      await runAll(opened, ['a', 'b', 'c'])
      const end = new AbortController()

      const report = await opened.inbox.reconcile({
        since: EVER,
        signal: end.signal,
        exists: () => {
          end.abort()
          return false
        },
      })

      expect(report).toMatchObject({ lookedAt: 1, missing: 1, isComplete: false })
    })

    test.each([
      [{ exists: always }, 'since'],
      [{ since: 'yesterday', exists: always }, 'since'],
      [{ since: new Date(2), until: new Date(1), exists: always }, 'since'],
      [{ since: EVER }, 'exists'],
      [{ since: EVER, exists: always, rerun: true }, 'rerun'],
      [{ since: EVER, exists: always, rerun: {} }, 'reason'],
      [{ since: EVER, exists: always, types: 'invoice.paid' }, 'types'],
      [{ since: EVER, exists: always, dryRun: true }, 'dryRun'],
    ])('refuses %j', async (options, named) => {
      const { inbox } = await openInbox(store)

      await expect(inbox.reconcile(options as never)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        message: expect.stringContaining(named),
      })
    })

    test('refuses a source that there is not', async () => {
      const { inbox } = await openInbox(store)

      const options = { since: EVER, exists: always, source: 'strpie' } as never
      await expect(inbox.reconcile(options)).rejects.toMatchObject({ code: 'SOURCE_UNKNOWN' })
    })
  })
}

async function isWritten(event: { readonly key: string }, tx: QueryTx): Promise<boolean> {
  const { rows } = await tx.query('select 1 as one from effects where event_key = $1', [event.key])
  return rows.length > 0
}

const started = new WeakSet<TestInbox>()

/** Delivers them and waits until they are done; their ids, in that order. */
async function runAll(
  { inbox, deliver }: InboxUnderTest,
  keys: readonly string[],
  type = 'invoice.paid',
): Promise<readonly string[]> {
  if (!started.has(inbox)) {
    inbox.on('stripe', 'dies', () => {
      throw permanent('on purpose')
    })
    inbox.on('stripe', 'invoice.*', (event, { tx }) => tx.query(WRITE, [event.key, 'done']))
    await inbox.start()
    started.add(inbox)
  }
  const done = untilDone(inbox, keys.length)
  const ids: string[] = []
  for (const key of keys) ids.push((await deliver(key, { type })).eventId ?? '')
  await done
  return ids
}
