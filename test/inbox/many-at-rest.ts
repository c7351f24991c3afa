import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from '../support/builders.ts'
import { copyEvent } from '../support/copy-event.ts'
import { dead, done, recordOne, runOne, unhandled } from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const MANY = 100_000
/** What a busy machine may add to the best of many, whatever is measured. */
const NOISE_MS = 10

/** What events at rest cost those that run, on every store. Run by `test/inbox/finding-<store>.test.ts`. */
export function manyAtRestContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: beside ${MANY} parked and ${MANY} dead events`, () => {
    test('an answer, a duplicate and a claim cost what they cost without', async () => {
      const { store, database } = await openStore(underTest)
      await measure(store, 'warm')
      const without = await measure(store, 'without')

      await recordOne(store, anEventDraft({ key: 'parked' }))
      const parked = await runOne(store, unhandled)
      await recordOne(store, anEventDraft({ key: 'dead' }))
      const buried = await runOne(store, dead)
      const { engine } = store
      const tables = ['queue', 'outcomes']
      await copyEvent(database, { engine, eventId: parked, count: MANY, tables })
      await copyEvent(database, { engine, eventId: buried, count: MANY, from: MANY + 1, tables })
      await measure(store, 'warm too')
      const beside = await measure(store, 'beside')

      for (const part of ['answer', 'duplicate', 'claim'] as const)
        expect(beside[part], part).toBeLessThan(2 * without[part] + NOISE_MS)
    })
  })
}

interface Costs {
  readonly answer: number
  readonly duplicate: number
  readonly claim: number
}

const ROUNDS = 40

/** The best of many rounds, in milliseconds: what it costs, without what else the machine did. */
async function measure(store: Store<QueryTx>, name: string): Promise<Costs> {
  const costs = { answer: Infinity, duplicate: Infinity, claim: Infinity }
  const time = async (part: keyof Costs, work: () => Promise<unknown>) => {
    const start = performance.now()
    await work()
    costs[part] = Math.min(costs[part], performance.now() - start)
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const draft = anEventDraft({ key: `${name} ${round}` })
    await time('answer', () => recordOne(store, draft))
    await time('duplicate', () => recordOne(store, draft))
    await time('claim', () => runOne(store, done))
  }
  return costs
}
