import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { OpenStore, StoreCase } from '../store-case.ts'
import { aMessageDraft, anEventDraft } from '../steps/builders.ts'
import { claim, done, nextDueInMs, recordOne, retryIn } from '../steps/store-steps.ts'
import { listMessages } from '../steps/outbox-steps.ts'

export const lentTransactionCases: readonly StoreCase[] = [
  ...casesOf('the lent transaction', casesThatOpen('never')),
  ...casesOf('the lent transaction, opened late', casesThatOpen('always')),
]

/** A store may open the transaction late when it is asked to, and its handlers do not see whether it does. */
function casesThatOpen(opensLate: 'never' | 'always'): readonly StoreCase[] {
  async function openGroup(open: OpenStore) {
    const opened = await open()
    const { eventId } = await recordOne(opened.store, anEventDraft())
    const group = await claim(opened.store, { opensLate })
    const lent = group.lend()
    return { ...opened, eventId, group, lent, write: () => opened.writeEffect(lent.tx, 'evt_1') }
  }

  return [
    {
      name: 'what it writes becomes visible with the commit',
      run: async (open) => {
        const { group, write, countEffects, store } = await openGroup(open)
        await write()
        await group.settle(group.events.map(done))
        assert.equal(await countEffects(), 0)

        assert.deepEqual(await group.commit(), { status: 'committed' })

        assert.equal(await countEffects('evt_1'), 1)
        assert.equal(await nextDueInMs(store), undefined)
      },
    },

    {
      name: 'what it wrote vanishes when the group is abandoned, and the outcome with it',
      run: async (open) => {
        const { group, write, countEffects, store, eventId } = await openGroup(open)
        await write()
        await group.settle(group.events.map(done))

        await group.abandon()

        assert.equal(await countEffects(), 0)
        assert.equal(await nextDueInMs(store), 0)
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'ready',
          outcome: undefined,
        })
      },
    },

    {
      name: 'what it wrote vanishes with the process before the commit',
      run: async (open) => {
        const { newStore, second, writeEffect, countEffects } = await open()
        const other = await second()
        const { eventId } = await recordOne(other, anEventDraft())
        const dying = newStore()
        await dying.open()
        const group = await claim(dying, { opensLate })
        await writeEffect(group.lend().tx, 'evt_1')
        await group.settle(group.events.map(done))

        await dying.close()

        assert.equal(await countEffects(), 0)
        const again = await claim(other)
        assertMatches(again.events, [{ eventId, attempt: 1 }])
        await writeEffect(again.lend().tx, 'evt_1')
        await again.settle(again.events.map(done))
        assert.deepEqual(await again.commit(), { status: 'committed' })
        assert.equal(await countEffects(), 1)
      },
    },

    {
      name: 'what it wrote after a savepoint vanishes with a rollback to it',
      run: async (open) => {
        const { group, write, countEffects } = await openGroup(open)
        await write()
        await group.setSavepoint('outer')
        await write()
        await group.setSavepoint('inner')
        await write()
        await group.rollbackTo('inner')
        await group.rollbackTo('outer')
        await group.dropSavepoint('outer')
        await group.settle(group.events.map(done))
        await group.commit()

        assert.equal(await countEffects(), 1)
      },
    },

    {
      name: 'an attempt that failed is written in it, without what the handler wrote',
      run: async (open) => {
        const { group, write, countEffects, store, eventId } = await openGroup(open)
        await group.setSavepoint('handler')
        await write()
        await group.rollbackTo('handler')
        await group.settle(group.events.map(retryIn(0)))

        assert.deepEqual(await group.commit(), { status: 'committed' })

        assert.equal(await countEffects(), 0)
        assertMatches(await store.operators.findEvent(eventId), { state: 'ready', attempts: 1 })
      },
    },

    {
      name: 'once revoked it rejects every statement, and the group goes on',
      run: async (open) => {
        const { group, lent, write, countEffects } = await openGroup(open)
        await write()
        await lent.revoke()

        await assert.rejects(write())

        await group.settle(group.events.map(done))
        assert.deepEqual(await group.commit(), { status: 'committed' })
        assert.equal(await countEffects(), 1)
      },
    },

    {
      name: 'revoked without waiting, it rejects from then on',
      run: async (open) => {
        const { group, lent, write } = await openGroup(open)

        lent.revokeNow()

        await assert.rejects(write())
        await group.abandon()
      },
    },

    {
      name: 'after the commit it cannot be used',
      run: async (open) => {
        const { group, write, countEffects } = await openGroup(open)
        await group.settle(group.events.map(done))
        await group.commit()

        await assert.rejects(write())
        assert.equal(await countEffects(), 0)
      },
    },

    {
      name: 'a message is there when it commits, and not before',
      run: async (open) => {
        const { group, lent, store, second } = await openGroup(open)
        const other = await second()
        const countMessages = async () =>
          (await listMessages(other, { state: 'ready', limit: 10 })).length

        await store.messages.enqueue(lent.tx, [aMessageDraft()])

        assert.equal(await countMessages(), 0)
        await group.settle(group.events.map(done))
        await group.commit()
        assert.equal(await countMessages(), 1)
      },
    },

    {
      name: 'a message goes with the transaction that is given up',
      run: async (open) => {
        const { group, lent, store } = await openGroup(open)

        await store.messages.enqueue(lent.tx, [aMessageDraft()])
        await group.abandon()

        assert.deepEqual(await listMessages(store, { state: 'ready', limit: 10 }), [])
      },
    },

    {
      name: 'the same destination and key make one message, in one call and in two',
      run: async (open) => {
        const { group, lent, store } = await openGroup(open)
        const { tx } = lent

        await store.messages.enqueue(tx, [aMessageDraft(), aMessageDraft({ delayMs: 5 })])
        await store.messages.enqueue(tx, [
          aMessageDraft({ body: Buffer.from('other') }),
          aMessageDraft({ destination: 'elsewhere' }),
          aMessageDraft({ key: 'key_2' }),
        ])
        await store.messages.enqueue(tx, [])
        await group.settle(group.events.map(done))
        await group.commit()

        assert.equal((await listMessages(store, { state: 'ready', limit: 10 })).length, 3)
      },
    },
  ]
}
