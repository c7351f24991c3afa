import { describe, expect, test } from 'vitest'
import type { Reading } from '../../../src/store/contract/readings.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

const LIMITS = { statementTimeoutMs: 30_000, idleTimeoutMs: 60_000 }

/** What every store must do for code that compares its events with their own tables. */
export function readingsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a reading`, () => {
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

    test('that sits idle for too long is over', async () => {
      const { store } = await openStore(underTest)
      const reading = await store.readings.open({ ...LIMITS, idleTimeoutMs: 20 })

      const { tx } = reading.lend()
      await expect.poll(async () => isOver(reading, tx), { timeout: 30_000 }).toBe(true)

      await reading.close()
    })
  })
}

const INSERT = 'insert into effects (event_key) values ($1)'

/** A query of its own would keep it from being idle. */
async function isOver(reading: Reading<QueryTx>, tx: QueryTx): Promise<boolean> {
  if (reading.status() !== 'open') return true
  await new Promise((resolve) => setTimeout(resolve, 100))
  return tx.query('select 1 as one').then(
    () => false,
    () => true,
  )
}
