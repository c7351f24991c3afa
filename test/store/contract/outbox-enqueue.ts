import { describe, expect, test } from 'vitest'
import { aMessageDraft, anEventDraft } from '../../support/builders.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { OpenedStore, StoreUnderTest } from '../../support/store-under-test.ts'

/** What every store must do when a message is written. */
export function outboxEnqueueContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: enqueue messages`, () => {
    test('a message is there when the transaction commits, and not before', async () => {
      const opened = await openStore(underTest)
      await recordOne(opened.store, anEventDraft())
      const group = await claim(opened.store)

      await opened.store.messages.enqueue(group.lend().tx, [aMessageDraft()])

      expect(await countMessages(underTest, opened)).toEqual({ messages: 0, queued: 0 })
      await group.settle(group.events.map(done))
      await group.commit()
      expect(await countMessages(underTest, opened)).toEqual({ messages: 1, queued: 1 })
    })

    test('a message goes with the transaction that is given up', async () => {
      const opened = await openStore(underTest)
      await recordOne(opened.store, anEventDraft())
      const group = await claim(opened.store)

      await opened.store.messages.enqueue(group.lend().tx, [aMessageDraft()])
      await group.abandon()

      expect(await countMessages(underTest, opened)).toEqual({ messages: 0, queued: 0 })
    })

    test('the same destination and key make one message, in one call and in two', async () => {
      const opened = await openStore(underTest)
      await recordOne(opened.store, anEventDraft())
      const group = await claim(opened.store)
      const { tx } = group.lend()

      await opened.store.messages.enqueue(tx, [aMessageDraft(), aMessageDraft({ delayMs: 5 })])
      await opened.store.messages.enqueue(tx, [
        aMessageDraft({ body: Buffer.from('other') }),
        aMessageDraft({ destination: 'elsewhere' }),
        aMessageDraft({ key: 'key_2' }),
      ])
      await opened.store.messages.enqueue(tx, [])
      await group.settle(group.events.map(done))
      await group.commit()

      expect(await countMessages(underTest, opened)).toEqual({ messages: 3, queued: 3 })
    })
  })
}

async function countMessages(
  { name }: StoreUnderTest,
  { database }: OpenedStore,
): Promise<{ messages: number; queued: number }> {
  const prefix = name.startsWith('sqlite') ? 'hookonce_' : 'hookonce.'
  const count = async (table: string) =>
    Number((await database.query(`select count(*) as found from ${prefix}${table}`))[0]?.['found'])
  return { messages: await count('messages'), queued: await count('message_queue') }
}
