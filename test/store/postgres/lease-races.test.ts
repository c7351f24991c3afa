/**
 * A sweep that has read what the dead had, and then waits before it takes that: the view in place of the queue
 * waits for a lock of ours, in the sweeper's statement and after its snapshot.
 */

import { describe, expect, onTestFinished, test } from 'vitest'
import pg from 'pg'
import { anEventDraft } from '../../support/builders.ts'
import { aLeaseRequest, leaseOne } from '../../support/lease-steps.ts'
import { hasNoPostgres, openPostgres, openStoreOn } from '../../support/postgres/open-postgres.ts'
import type { QueryTx } from '../../support/store-under-test.ts'
import { done } from '../../support/store-steps.ts'
import type { Store } from '../../../src/store/contract/store.ts'

const PAUSE = `
  alter table hookonce.queue rename to real_queue;
  create function hookonce.pause() returns boolean language plpgsql volatile as $$
    begin
      if current_setting('test.pauses', true) = 'on' then
        perform pg_advisory_xact_lock(42);
      end if;
      return true;
    end $$;
  create view hookonce.queue as select * from hookonce.real_queue where hookonce.pause()`
const WAITING = `
  select 1
    from pg_locks
   where locktype = 'advisory' and objid = 42 and not granted
     and database = (select oid from pg_database where datname = current_database())`

async function openRace() {
  const opened = await openPostgres()
  const { config, query } = opened
  const store = opened.store as unknown as Store<QueryTx>
  const recorded = await store.events.record([anEventDraft()], { deadlineMs: 20_000 })
  const leased = await leaseOne(store)
  const stopped = await store.workers.listHearts()
  const sweeper = await openStoreOn({ ...config, options: '-c test.pauses=on' })
  await query(PAUSE)
  const holder = new pg.Client(config)
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query('begin; select pg_advisory_xact_lock(42)')

  const sweeping = sweeper.workers.sweep({ stopped, crashesMax: 3 })
  await expect.poll(() => query(WAITING)).toHaveLength(1)
  return {
    store,
    leased,
    eventId: recorded[0]!.eventId,
    goOn: async () => {
      await holder.query('commit')
      return sweeping
    },
  }
}

describe.skipIf(hasNoPostgres)('a sweep that is late on PostgreSQL', () => {
  test('C06: takes nothing that was done meanwhile', async () => {
    const { store, leased, eventId, goOn } = await openRace()

    expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual([
      true,
    ])

    expect(await goOn()).toEqual([])
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'done', failures: [] })
  })

  test('C07: leaves a lease alone that was given up and taken anew by a worker that lives', async () => {
    const { store, leased, eventId, goOn } = await openRace()
    await store.steps.settle([{ lease: leased.lease, settlement: { state: 'given-back' } }])
    await store.workers.beat({ workerId: 'alive', slots: 1, handles: [] })
    const [again] = await store.steps.lease({
      ...{ ...aLeaseRequest(1), workerId: 'alive' },
    })

    expect(await goOn()).toEqual([])
    expect(await store.operators.findEvent(eventId)).toMatchObject({
      state: 'running',
      failures: [],
    })
    expect(await store.steps.settle([{ lease: again!.lease, settlement: done(again!) }])).toEqual([
      true,
    ])
  })
})
