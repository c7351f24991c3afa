/** A sweep that has read who is dead, and then waits for the writer before it takes what they had. */

import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { openStore } from '../../support/store-under-test.ts'
import { recordOne } from '../../support/store-steps.ts'

/** What happens between the reading and the taking, by another process that has the file's write lock. */
async function race(meanwhile: string) {
  const { store, second, database } = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
  const { eventId } = await recordOne(store, anEventDraft())
  await leaseOne(store)
  await store.workers.remove('worker-1')
  const sweeper = await second()
  await sweeper.workers.beat({ workerId: 'alive', slots: 1, handles: [] })
  const stopped = (await sweeper.workers.listHearts()).filter(({ isGone }) => isGone)
  expect(stopped).toMatchObject([{ workerId: 'worker-1' }])
  await database.execute('begin immediate')

  const sweeping = sweeper.workers.sweep({ stopped, crashesMax: 3 })
  await database.execute(`${meanwhile.replaceAll('$event', `'${eventId}'`)}; commit`)
  return { swept: await sweeping, event: await store.operators.findEvent(eventId) }
}

describe('a sweep that is late on SQLite', () => {
  test('would have taken the lease', async () => {
    const { swept, event } = await race('select 1')

    expect(swept).toMatchObject([{ crashes: 1, workerId: 'worker-1' }])
    expect(event).toMatchObject({ state: 'ready' })
  })

  test('C06: takes nothing that was done meanwhile', async () => {
    const { swept, event } = await race(`
      delete from hookonce_queue where event_id = $event;
      insert into hookonce_outcomes (event_id, run, state, attempts, duration_ms, settled_at)
      values ($event, 0, 'done', 1, 0, 1)`)

    expect(swept).toEqual([])
    expect(event).toMatchObject({ state: 'done', failures: [] })
  })

  test('C07: leaves a worker alone that has come back meanwhile', async () => {
    const { swept, event } = await race(
      `insert into hookonce_workers (worker_id, slot, hostname, pid, beat_at) values ('worker-1', 0, 'here', 1, 1)`,
    )

    expect(swept).toEqual([])
    expect(event).toMatchObject({ state: 'running', failures: [] })
  })

  test('C07: leaves a lease alone that was given up and taken anew by a worker that lives', async () => {
    const { swept, event } = await race(
      `update hookonce_queue set lease_worker = 'alive', lease_token = lease_token + 1`,
    )

    expect(swept).toEqual([])
    expect(event).toMatchObject({ state: 'running', failures: [] })
  })
})
