import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'

describe("a connection to PostgreSQL that is lost at the COMMIT of an operator's action", () => {
  test.each([
    ['after', 'drop-after'],
    ['before', 'drop-before'],
  ] as const)(
    'Y09: %s the server has committed: the same call with its token makes one run',
    async (_, fault) => {
      const { worker, operator, proxy, runs } = await startBoth()
      await accept(worker, fromPartner({ key: 'evt_1' }))
      const { eventId } = await worker.untilHappened('event.done', 'evt_1')
      const replay = () =>
        operator.inbox.admin.replay(eventId, { reason: 'lost rows', token: 'click-1' })
      // So that the connection is made, and what is lost is the COMMIT of the action.
      await operator.inbox.admin.findEvent(eventId)
      const { fired } = proxy.arm({ matches: /^commit$/i, fault })

      await expect(replay()).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' })
      await fired
      const again = await replay()
      expect(await replay()).toEqual(again)
      await until('the replay has run', () => runs.length > 1)

      expect(again).toEqual({ status: 'done', eventId, run: 1, state: 'ready' })
      expect(runs).toEqual([0, 1])
      expect(await operator.inbox.admin.listRuns(eventId)).toHaveLength(1)
      expect(await operator.inbox.admin.listAudit()).toHaveLength(1)
    },
  )
})

async function startBoth() {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close().catch(() => undefined))
  const runs: number[] = []
  const worker = createFaultInbox(database, { worker: {} })
  worker.inbox.on('partner', '*', (_event, { run }) => {
    runs.push(run)
  })
  await worker.inbox.start()
  const operator = createFaultInbox(database, { connection: proxy.config, poolMax: 1 })
  return { worker, operator, proxy, runs }
}
