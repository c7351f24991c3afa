import { describe, expect, test } from 'vitest'
import { highestId, lowestId } from '../../../src/model/id-range.ts'
import type { Reading } from '../../../src/store/contract/readings.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { anEventDraft } from '../../support/builders.ts'
import { act, claim, dead, done, recordOne, runOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

const LIMITS = { statementTimeoutMs: 30_000, idleTimeoutMs: 60_000 }
const ALL = { after: lowestId, below: highestId, limit: 100 }

/** What every store must do for those who compare its events with their own tables. */
export function readingsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a reading`, () => {
    test('sees what is committed, and waits for no handler', async () => {
      const { store, createEffects } = await openStore(underTest)
      await createEffects()
      await recordOne(store, anEventDraft({ key: 'a' }))
      await recordOne(store, anEventDraft({ key: 'b' }))
      const first = await claim(store, { limit: 1 })
      await first.lend().tx.query(INSERT, ['a'])
      await first.settle(first.events.map(done))
      await first.commit()
      const open = await claim(store, { limit: 1 })
      await open.lend().tx.query(INSERT, ['b'])

      expect(await keysSeen(store)).toEqual(['a'])

      await open.settle(open.events.map(done))
      await open.commit()
      expect(await keysSeen(store)).toEqual(['a', 'b'])
    })

    test.each([INSERT, 'delete from effects', 'create table more (id integer)'])(
      'cannot write: %s',
      async (sql) => {
        const { store, createEffects, countEffects, database } = await openStore(underTest)
        await createEffects()
        await database.query("insert into effects (event_key) values ('kept')")
        const reading = await store.readings.open(LIMITS)
        const lent = reading.lend()

        const written = lent.tx.query(sql, sql === INSERT ? ['x'] : [])
        await expect(written).rejects.toThrow(/read-?only/i)
        await lent.revoke()
        await reading.close()

        expect(await countEffects()).toBe(1)
        await expect(database.query('select * from more')).rejects.toThrow()
      },
    )

    test('that was closed, or whose loan is over, runs nothing', async () => {
      const { store } = await openStore(underTest)
      const reading = await store.readings.open(LIMITS)
      const over = reading.lend()
      await over.revoke()
      const lent = reading.lend()
      expect(reading.status()).toBe('open')
      await reading.close()
      await reading.close()

      await expect(over.tx.query('select 1 as one')).rejects.toMatchObject({ code: 'TX_REVOKED' })
      await expect(lent.tx.query('select 1 as one')).rejects.toMatchObject({
        code: expect.stringMatching(/TX_REVOKED|TRANSACTION_ENDED/),
      })
      expect(reading.status()).not.toBe('open')
    })

    test('that sits idle for too long is over', async () => {
      const { store } = await openStore(underTest)
      const reading = await store.readings.open({ ...LIMITS, idleTimeoutMs: 20 })

      const { tx } = reading.lend()
      await expect.poll(async () => isOver(reading, tx), { timeout: 30_000 }).toBe(true)

      await reading.close()
    })
  })

  describe(`${underTest.name}: the walk over what has come to rest`, () => {
    test('goes from the oldest on, and tells what is done from what is not', async () => {
      const { store } = await openStore(underTest)
      const ids: string[] = []
      for (const key of ['a', 'b', 'c', 'd']) {
        await recordOne(store, anEventDraft({ key, type: `type.${key}` }))
        ids.push(
          await runOne(store, key === 'b' ? dead : done, { of: [['stripe', `type.${key}`]] }),
        )
      }
      await recordOne(store, anEventDraft({ key: 'e' }))
      // It runs once more: what it did the first time is not its end.
      await act(store, 'replay', ids[2] ?? '', {
        replay: { freshKeys: false, body: undefined, onlyIfNotApplied: false },
      })

      const walked = await store.search.walkSettled(ALL)

      expect(walked.map(({ id }) => id)).toEqual(ids)
      expect(walked.map(({ isDone }) => isDone)).toEqual([true, false, false, true])
      expect(walked[0]).toEqual({
        id: ids[0],
        run: 0,
        isDone: true,
        payload: 'kept',
        source: 'stripe',
        type: 'type.a',
      })
      const after = ids[0] ?? ''
      const below = ids[3] ?? ''
      const some = await store.search.walkSettled({ after, below, limit: 1 })
      expect(some.map(({ id }) => id)).toEqual([ids[1]])
    })

    test('has the latest run of an event, and says when its bytes were erased', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'a' }))
      const eventId = await runOne(store, done)
      await act(store, 'replay', eventId, {
        replay: { freshKeys: false, body: undefined, onlyIfNotApplied: false },
      })
      await runOne(store, done)
      await act(store, 'erase', eventId)

      expect(await store.search.walkSettled(ALL)).toMatchObject([
        { id: eventId, run: 1, isDone: true, payload: 'erased' },
      ])
    })
  })
}

const INSERT = 'insert into effects (event_key) values ($1)'

async function keysSeen(store: Store<QueryTx>): Promise<readonly unknown[]> {
  const reading = await store.readings.open(LIMITS)
  const lent = reading.lend()
  try {
    const { rows } = await lent.tx.query('select event_key from effects order by event_key')
    return rows.map(({ event_key }) => event_key)
  } finally {
    await lent.revoke()
    await reading.close()
  }
}

/** A query of its own would keep it from being idle. */
async function isOver(reading: Reading<QueryTx>, tx: QueryTx): Promise<boolean> {
  if (reading.status() !== 'open') return true
  await new Promise((resolve) => setTimeout(resolve, 100))
  return tx.query('select 1 as one').then(
    () => false,
    () => true,
  )
}
