import type { ConformanceDatabase } from '../../src/testing/store/index.ts'
import type { QueryTx, StoreUnderTest } from './store-under-test.ts'

const COUNT = 'select count(*) as found from effects where event_key = coalesce($1, event_key)'

/** A database of ours as the conformance suite wants it. It knows nothing of Vitest, and neither does the suite. */
export async function openConformance(
  underTest: StoreUnderTest,
): Promise<ConformanceDatabase<QueryTx>> {
  const database = await underTest.create()
  await database.query('create table effects (event_key text, note text)')
  return {
    newStore: () => database.newStore(),
    writeEffect: async (tx, key) => {
      await tx.query('insert into effects (event_key) values ($1)', [key])
    },
    countEffects: async (key, tx) => {
      const params = [key ?? null]
      const rows = tx ? (await tx.query(COUNT, params)).rows : await database.query(COUNT, params)
      return Number(rows[0]?.['found'])
    },
    begin: () => database.begin(),
    close: () => database.close(),
  }
}
