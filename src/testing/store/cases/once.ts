import assert from 'node:assert/strict'
import { assertMatches, required } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, OpenedStore, OwnTransaction, StoreCase } from '../store-case.ts'
import { aMessageDraft, anEventDraft } from '../steps/builders.ts'
import { recordOne } from '../steps/store-steps.ts'
import type { OnceClaim, OnceDraft } from '../../../store/contract/once.ts'
import { listMessages } from '../steps/outbox-steps.ts'

const MAY_WAIT = { mayWait: true }

export const onceCases: readonly StoreCase[] = casesOf('once, in a transaction of the user', [
  {
    name: 'what is committed has claimed its key, and its result is kept',
    run: async (open) => {
      const opened = await open()
      const own = await opened.begin()
      const first = await runOnce(opened.store, own)
      await own.commit()

      const again = await claimAlone(opened)

      assert.equal(first.status, 'first')
      assertMatches(again, { status: 'known', isDone: true, result: '{"ok":true}' })
      assert.equal(await opened.countEffects('job_1'), 1)
    },
  },

  {
    name: 'what is rolled back has left nothing behind: the key is free, and nothing is sent',
    run: async (open) => {
      const opened = await open()
      const own = await opened.begin()
      await runOnce(opened.store, own)
      await opened.store.messages.enqueue(own.tx, [aMessageDraft()])
      await own.rollback()

      assert.equal(await opened.countEffects(), 0)
      assert.equal(await opened.store.operators.countEvents(), 0)
      assert.deepEqual(await listMessages(opened.store, { state: 'ready', limit: 10 }), [])
      assertMatches(await claimAlone(opened), { status: 'first' })
    },
  },

  {
    name: 'a message is sent by the commit that makes the effect true',
    run: async (open) => {
      const { store, begin, countEffects } = await open()
      const own = await begin()
      await own.writeEffect('job_1')
      await store.messages.enqueue(own.tx, [aMessageDraft()])
      assert.deepEqual(await listMessages(store, { state: 'ready', limit: 10 }), [])

      await own.commit()

      assert.equal((await listMessages(store, { state: 'ready', limit: 10 })).length, 1)
      assert.equal(await countEffects(), 1)
    },
  },

  {
    name: 'work that fails is undone by itself, and the rest of the transaction is kept',
    run: async (open) => {
      const { store, begin, countEffects } = await open()
      const own = await begin()
      await own.writeEffect('before')

      await assert.rejects(
        store.once.inSavepoint(own.tx, async () => {
          await own.writeEffect('undone')
          throw new Error('no luck')
        }),
        { message: 'no luck' },
      )
      await own.commit()

      assert.equal(await countEffects('before'), 1)
      assert.equal(await countEffects('undone'), 0)
    },
  },

  {
    name: 'a webhook and a call with one source and key are one event',
    run: async (open) => {
      const opened = await open()
      const draft = anEventDraft({ source: 'jobs', key: 'job_1' })
      const { eventId } = await recordOne(opened.store, draft)

      assertMatches(await claimAlone(opened), { status: 'known', eventId, isDone: false })
    },
  },

  {
    name: 'two transactions that claim one key at once: one is the first, and the other sees it done',
    needs: 'many writers',
    run: async (open) => {
      const opened = await open()
      const [one, two] = [await opened.begin(), await opened.begin()]
      await runOnce(opened.store, one)

      const waiting = opened.store.once.claim(two.tx, aOnceDraft(), MAY_WAIT)
      await one.commit()

      assertMatches(await waiting, { status: 'known', isDone: true })
      await two.rollback()
      assert.equal(await opened.countEffects('job_1'), 1)
    },
  },

  {
    name: 'one that may not wait for another transaction is told that the key is taken',
    needs: 'many writers',
    run: async (open) => {
      const { store, begin } = await open()
      const [one, two] = [await begin(), await begin()]
      await runOnce(store, one)

      const claimed = await store.once.claim(two.tx, aOnceDraft(), { mayWait: false })

      assert.deepEqual(claimed, { status: 'running' })
      await two.rollback()
      await one.commit()
    },
  },
])

/** Claims the key, writes an effect, and says that it is done: what `inbox.once` does. */
async function runOnce(store: AnyStore, own: OwnTransaction): Promise<OnceClaim> {
  return store.once.inSavepoint(own.tx, async () => {
    const claimed = await store.once.claim(own.tx, aOnceDraft(), MAY_WAIT)
    if (claimed.status !== 'first') return claimed
    await own.writeEffect('job_1')
    await store.once.finish(own.tx, claimed.eventId, { result: '{"ok":true}', durationMs: 5 })
    return claimed
  })
}

/** What a later transaction finds, which leaves nothing itself. */
async function claimAlone({ store, begin }: OpenedStore): Promise<OnceClaim> {
  const own = await begin()
  const claimed = await store.once.claim(own.tx, aOnceDraft(), MAY_WAIT)
  await own.rollback()
  return claimed
}

function aOnceDraft(): OnceDraft {
  const { source, key, type, keyHash, fingerprint, body } = anEventDraft({
    source: 'jobs',
    key: 'job_1',
  })
  return { source, key: required(key), type, keyHash, fingerprint, body, contentType: undefined }
}
