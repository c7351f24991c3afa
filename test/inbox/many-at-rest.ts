import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from '../support/builders.ts'
import { copyEvent } from '../support/copy-event.ts'
import { dead, done, recordOne, runOne, unhandled } from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { OpenedStore, QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const MANY = 100_000
/** An index of many rows is a level or two deeper. What looked at the rows would cost a hundred times as much. */
const RATIO_MAX = 2
const ROUNDS_MIN = 40
/** On a machine that is busy with other things it takes longer until each has had a moment to itself. */
const ROUNDS_MAX = 1_000

/** What events at rest cost those that run, on every store. Run by `test/inbox/finding-<store>.test.ts`. */
export function manyAtRestContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: beside ${MANY} parked and ${MANY} dead events`, () => {
    test(
      'an answer, a duplicate and a claim cost less than twice what they cost without',
      { timeout: 600_000 },
      async () => {
        const without = await openStore(underTest)
        const beside = await openStore(underTest)
        await addResting(beside)

        // In turns, and the best of each: what it costs, whatever else the machine does.
        const best = { without: newCosts(), beside: newCosts() }
        const isDear = (part: keyof Costs) => best.beside[part] >= RATIO_MAX * best.without[part]
        let round = 0
        do {
          await measure(without.store, round, best.without)
          await measure(beside.store, round, best.beside)
          round += 1
        } while (round < ROUNDS_MIN || (PARTS.some(isDear) && round < ROUNDS_MAX))

        for (const part of PARTS)
          expect(best.beside[part] / best.without[part], part).toBeLessThan(RATIO_MAX)
      },
    )
  })
}

const PARTS = ['answer', 'duplicate', 'claim'] as const

type Costs = Record<(typeof PARTS)[number], number>

function newCosts(): Costs {
  return { answer: Infinity, duplicate: Infinity, claim: Infinity }
}

async function addResting({ store, database }: OpenedStore): Promise<void> {
  await recordOne(store, anEventDraft({ key: 'parked' }))
  const parked = await runOne(store, unhandled)
  await recordOne(store, anEventDraft({ key: 'dead' }))
  const buried = await runOne(store, dead)
  const { engine } = store
  const tables = ['queue', 'outcomes']
  await copyEvent(database, { engine, eventId: parked, count: MANY, tables })
  await copyEvent(database, { engine, eventId: buried, count: MANY, from: MANY + 1, tables })
}

async function measure(store: Store<QueryTx>, round: number, best: Costs): Promise<void> {
  const time = async (part: keyof Costs, work: () => Promise<unknown>) => {
    const start = performance.now()
    await work()
    best[part] = Math.min(best[part], performance.now() - start)
  }
  const draft = anEventDraft({ key: `round ${round}` })
  await time('answer', () => recordOne(store, draft))
  await time('duplicate', () => recordOne(store, draft))
  await time('claim', () => runOne(store, done))
}
