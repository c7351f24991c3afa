/**
 * `kill -9` in the midst of a comparison with the user's tables that replays what is missing. However often it is begun
 * anew, and whatever has run in between, each missing effect happens once.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import { createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'

const EVENTS = 60
const KILLS = 5
const LIMIT_MS = 300_000
const KEYS = Array.from({ length: EVENTS }, (_, nth) => `evt_${nth}`)

describe.each(ENGINES)('reconcile on %s', (engine) => {
  let processes: SubjectPool
  beforeAll(() => {
    processes = new SubjectPool('reconciler', 1)
  })
  afterAll(() => processes.close())

  test(
    'whose processes are killed halfway has each missing effect applied once',
    { timeout: LIMIT_MS },
    async () => {
      const database = await createFaultDatabase(engine)
      const first = createFaultInbox(database, { worker: {} })
      await runAll(first, () => database.countEffects())
      await first.inbox.stop()
      await database.query("delete from effects where event_key <> 'evt_7'")

      for (let nth = 1; nth <= KILLS; nth += 1) {
        const victim = processes.take()
        // A few replays further each time, and at another of the statements of one.
        await victim.arm({ matches: 'audit', at: nth * 8 + nth, then: 'kill' })
        await victim.begin({ store: database.store })
        expect(await victim.gone).toMatchObject({ signal: 'SIGKILL' })
        // What was replayed runs now and then, before the next one is begun.
        if (nth % 2 === 0) await settle(createFaultInbox(database, { worker: {} }), database)
      }
      const halfway = await database.countEffects()
      expect(halfway).toBeGreaterThan(1)
      expect(halfway).toBeLessThan(EVENTS)

      const last = processes.take()
      await last.begin({ store: database.store })
      expect(await last.gone).toMatchObject({ code: 0 })
      await settle(createFaultInbox(database, { worker: {} }), database)

      expect(await database.listWrongEffects(KEYS)).toEqual([])
      expect(await database.countEffects()).toBe(EVENTS)
    },
  )
})

type Database = Awaited<ReturnType<typeof createFaultDatabase>>

function addHandler({ inbox }: FaultInbox): void {
  inbox.on('partner', '*', (event, { tx }) =>
    tx.query('insert into effects (event_key) values ($1)', [event.key]),
  )
}

async function runAll(fault: FaultInbox, countEffects: () => Promise<number>): Promise<void> {
  addHandler(fault)
  await fault.inbox.start()
  for (const key of KEYS) await fault.inbox.receive('partner', fromPartner({ key }))
  await until('all have run', async () => (await countEffects()) === EVENTS)
}

/** Runs what is queued. */
async function settle(fault: FaultInbox, database: Database): Promise<void> {
  addHandler(fault)
  await fault.inbox.start()
  await until('nothing is queued', async () => (await database.count('queue')) === 0)
  await fault.inbox.stop()
}
