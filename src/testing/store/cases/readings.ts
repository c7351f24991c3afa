import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'
import { highestId, lowestId } from '../../../model/id-range.ts'
import { anEventDraft } from '../steps/builders.ts'
import { act, claim, dead, done, recordOne, runOne } from '../steps/store-steps.ts'

export const readingCases: readonly StoreCase[] = [
  ...casesOf('a reading', [
    {
      name: 'sees what is committed, and waits for no handler',
      run: async (open) => {
        const { store, writeEffect, countEffects } = await open()
        await recordOne(store, anEventDraft({ key: 'a' }))
        await recordOne(store, anEventDraft({ key: 'b' }))
        const first = await claim(store, { limit: 1 })
        await writeEffect(first.lend().tx, 'a')
        await first.settle(first.events.map(done))
        await first.commit()
        const second = await claim(store, { limit: 1 })
        await writeEffect(second.lend().tx, 'b')
        const countSeen = () => inReading(store, (tx) => countEffects(undefined, tx))

        assert.equal(await countSeen(), 1)

        await second.settle(second.events.map(done))
        await second.commit()
        assert.equal(await countSeen(), 2)
      },
    },

    {
      name: 'cannot write',
      run: async (open) => {
        const { store, writeEffect, countEffects } = await open()

        await assert.rejects(inReading(store, (tx) => writeEffect(tx, 'x')))

        assert.equal(await countEffects(), 0)
      },
    },

    {
      name: 'that was closed, or whose loan is over, runs nothing',
      run: async (open) => {
        const { store, countEffects } = await open()
        const reading = await store.readings.open(LIMITS)
        const over = reading.lend()
        await over.revoke()
        const lent = reading.lend()
        assert.equal(reading.status(), 'open')
        await reading.close()
        await reading.close()

        await assert.rejects(countEffects(undefined, over.tx))
        await assert.rejects(countEffects(undefined, lent.tx))
        assert.notEqual(reading.status(), 'open')
      },
    },
  ]),

  ...casesOf('the walk over what has come to rest', [
    {
      name: 'goes from the oldest on, and tells what is done from what is not',
      run: async (open) => {
        const { store } = await open()
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

        assert.deepEqual(
          walked.map(({ id }) => id),
          ids,
        )
        assert.deepEqual(
          walked.map(({ isDone }) => isDone),
          [true, false, false, true],
        )
        assert.deepEqual(walked[0], {
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
        assert.deepEqual(
          some.map(({ id }) => id),
          [ids[1]],
        )
      },
    },

    {
      name: 'has the latest run of an event, and says when its bytes were erased',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'a' }))
        const eventId = await runOne(store, done)
        await act(store, 'replay', eventId, {
          replay: { freshKeys: false, body: undefined, onlyIfNotApplied: false },
        })
        await runOne(store, done)
        await act(store, 'erase', eventId)

        assertMatches(await store.search.walkSettled(ALL), [
          { id: eventId, run: 1, isDone: true, payload: 'erased' },
        ])
      },
    },
  ]),
]

const LIMITS = { statementTimeoutMs: 30_000, idleTimeoutMs: 60_000 }

const ALL = { after: lowestId, below: highestId, limit: 100 }

async function inReading<Result>(
  store: AnyStore,
  look: (tx: unknown) => Promise<Result>,
): Promise<Result> {
  const reading = await store.readings.open(LIMITS)
  const lent = reading.lend()
  try {
    return await look(lent.tx)
  } finally {
    await lent.revoke()
    await reading.close()
  }
}
