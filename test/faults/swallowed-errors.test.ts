import { describe, expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import type { QueryTx } from '../support/store-under-test.ts'

const TWICE = { retry: { attemptsMax: 2, firstMs: 1, factor: 1 } }
const WRITE = 'insert into effects values ($1, $2)'

async function swallow(tx: QueryTx, key: string): Promise<void> {
  await tx.query(WRITE, [key, 'void'])
  await tx.query('select 1 / 0').catch(() => undefined)
}

/** Handlers that swallow the error of a statement, by what they do then. */
const HANDLERS: Readonly<Record<string, (worker: FaultInbox) => void>> = {
  'a handler returns': ({ inbox }) =>
    inbox.on('partner', '*', TWICE, async ({ key }, { tx }) => swallow(tx, key)),
  'a handler sends': ({ inbox }) =>
    inbox.on('partner', '*', TWICE, async ({ key }, { tx, send }) => {
      await swallow(tx, key)
      await send('sink', {})
    }),
  'a handler sends, and has not waited for the statement': ({ inbox }) =>
    inbox.on('partner', '*', TWICE, async ({ key }, { tx, send }) => {
      void swallow(tx, key)
      await send('sink', {})
    }),
  'a handler that is a step sends': ({ inbox }) => {
    inbox.steps('partner', 'thing.*', TWICE, () => undefined)
    inbox.on('partner', '*', { ...TWICE, name: 'sender' }, async ({ key }, { tx, send }) => {
      await swallow(tx, key)
      await send('sink', {})
    })
  },
  'a step returns': ({ inbox }) =>
    inbox.steps('partner', '*', TWICE, async ({ key }, step) => {
      await step.tx('write', async (tx) => swallow(tx, key))
    }),
  'a step sends': ({ inbox }) =>
    inbox.steps('partner', '*', TWICE, async ({ key }, step) => {
      await step.tx('write', async (tx, { send }) => {
        await swallow(tx, key)
        await send('sink', {})
      })
    }),
}

describe('H02: after an error that it swallowed, on PostgreSQL', () => {
  test.each(Object.entries(HANDLERS))(
    '%s, and the attempt is failed: the transaction was aborted',
    async (_, add) => {
      const database = await createFaultDatabase('postgres')
      const worker = createFaultInbox(database, {
        worker: { concurrency: 1 },
        destinations: [destination('sink', () => undefined)],
      })
      add(worker)
      // Several, so that they share a transaction and run again one by one.
      for (const key of ['evt_1', 'evt_2', 'evt_3']) await accept(worker, fromPartner({ key }))
      await worker.inbox.start()

      for (const key of ['evt_1', 'evt_2', 'evt_3']) {
        const { error } = await worker.untilHappened('event.failed', key)
        expect(error).toMatchObject({ code: 'TRANSACTION_ABORTED' })
        const { reason } = await worker.untilHappened('event.dead', key)
        expect(reason).toContain('was aborted by an earlier error that was swallowed')
        const { failures } = await worker.getEvent(key)
        expect(failures).toMatchObject([{ reason: 'transaction' }, { reason: 'transaction' }])
      }
      expect(await database.countEffects()).toBe(0)
      expect(await database.count('message_queue')).toBe(0)
    },
  )
})
