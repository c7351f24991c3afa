import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { WRITE_EFFECT } from '../support/faults/scripted-handler.ts'
import { until } from '../support/faults/until.ts'

const KEYS = Array.from({ length: 20 }, (_, nth) => `evt_${nth}`)
/** Longer than a handler in a group may wait. */
const WAITS_LONG = `
  select pid
    from pg_stat_activity
   where datname = current_database() and query like '%settle_resting%' and wait_event_type = 'Lock'
     and clock_timestamp() - query_start > interval '200 ms'`

describe('P06: while another has the lock that a pruner needs for a week of outcomes', () => {
  test('what has run waits for it, and no event is to blame when that takes too long', async () => {
    const database = await createFaultDatabase('postgres')
    if (database.store.engine !== 'postgres') return expect.unreachable()
    const worker = createFaultInbox(database, { worker: { concurrency: 1 } })
    let go = (): void => undefined
    const isLocked = new Promise<void>((resolve) => (go = resolve))
    worker.inbox.on('partner', '*', async ({ key }, { tx }) => {
      await isLocked
      await tx.query(WRITE_EFFECT, [key, 'ran'])
    })
    await worker.inbox.start()
    for (const key of KEYS) await accept(worker, fromPartner({ key }))
    const other = new pg.Client(database.store.connection)
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('begin')
    await other.query('lock table hookonce.outcomes in access exclusive mode')
    go()

    await until('a group waits', async () => (await database.query(WAITS_LONG)).length === 1)
    await worker.untilHappened('group.given-back')
    await other.query('rollback')
    await until('all are at rest', async () => (await database.count('queue')) === 0)

    expect(worker.count('event.failed')).toBe(0)
    expect(await database.count('outcomes', "state = 'done' and attempts = 1")).toBe(KEYS.length)
    expect(await database.listWrongEffects(KEYS)).toEqual([])
  })
})
