/** Two calls with one token, of which each has looked for the other before one of them was committed. */

import { describe, expect, onTestFinished, test } from 'vitest'
import pg from 'pg'
import type { Ordered } from '../../../src/store/contract/operators.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { anEventDraft } from '../../support/builders.ts'
import { until } from '../../support/faults/until.ts'
import { recordKeys, sort } from '../../support/lane-steps.ts'
import { aCall, leaseOne } from '../../support/lease-steps.ts'
import { claimOne, deadMessage, enqueue } from '../../support/outbox-steps.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import type { QueryTx } from '../../support/store-under-test.ts'
import { dead, NO_ORDER, recordOne } from '../../support/store-steps.ts'

type AnyStore = Store<QueryTx>
type Call = (order: Ordered) => Promise<unknown>

interface Deed {
  readonly name: string
  /** What both have to change. */
  readonly table: string
  readonly prepare: (store: AnyStore) => Promise<Call>
}

const SOURCE = { kind: 'source', name: 'stripe' } as const
const LANE = { kind: 'lane', source: 'stripe', name: 'K' } as const
const BULK = '018f0000-0000-7000-8000-000000000001'

const DEEDS: readonly Deed[] = [
  {
    name: 'pause a source',
    table: 'pauses',
    prepare: async (store) => (order) => store.pauses.pause(SOURCE, order),
  },
  {
    name: 'resume a source',
    table: 'pauses',
    prepare: async (store) => {
      await store.pauses.pause(SOURCE, NO_ORDER)
      return (order) => store.pauses.resume(SOURCE, order)
    },
  },
  {
    name: 'pause a lane',
    table: 'lanes',
    prepare: async (store) => {
      await openLane(store)
      return (order) => store.pauses.pause(LANE, order)
    },
  },
  {
    name: 'resume a lane',
    table: 'lanes',
    prepare: async (store) => {
      await openLane(store)
      await store.pauses.pause(LANE, NO_ORDER)
      return (order) => store.pauses.resume(LANE, order)
    },
  },
  {
    name: 'retry a message',
    table: 'message_outcomes',
    prepare: async (store) => {
      await enqueue(store, {})
      const message = await claimOne(store)
      await store.messages.settle([deadMessage(message)])
      return (order) => store.messages.decide('retryMessage', message.id, order)
    },
  },
  {
    name: 'abort a bulk',
    table: 'bulks',
    prepare: async (store) => {
      const plan = { id: BULK, action: 'retry', filter: '{}', terms: undefined } as const
      await store.bulks.create({ ...plan, ...NO_ORDER })
      await store.bulks.endPlanning(BULK)
      return (order) => store.bulks.abort(BULK, order)
    },
  },
  {
    name: 'resolve a step',
    table: 'steps',
    prepare: async (store) => {
      await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)
      await store.steps.writeCalls([aCall(leased)])
      await store.steps.settle([{ lease: leased.lease, settlement: dead(leased) }])
      const { eventId } = leased
      const decision = { happened: true, result: undefined } as const
      const resolution = { eventId, handler: undefined, name: 'charge', decision }
      return (order) => store.steps.resolve(resolution, order)
    },
  },
]

async function openLane(store: AnyStore): Promise<void> {
  await recordKeys(store, ['K1'])
  await sort(store)
}

const WAITING = `
  select 1
    from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`

describe.skipIf(hasNoPostgres)('one token on PostgreSQL', () => {
  test.each(DEEDS)('is done for both of two calls at once: $name', async ({ table, prepare }) => {
    const { config, store: opened, query } = await openPostgres()
    const store = opened as unknown as AnyStore
    const call = await prepare(store)
    const holder = new pg.Client(config)
    await holder.connect()
    onTestFinished(() => holder.end())
    // It lets both look for the token, and neither change anything.
    await holder.query(`begin; lock table hookonce.${table} in exclusive mode`)

    const order = { ...NO_ORDER, token: 'click' }
    const calls = [call(order), call(order)]
    await until('both wait', async () => (await query(WAITING)).length === 2)
    await holder.query('commit')

    expect(await Promise.all(calls)).toMatchObject([{ status: 'done' }, { status: 'done' }])
    const audit = await store.operators.listAudit({ limit: 10 })
    expect(audit.filter(({ token }) => token === 'click')).toHaveLength(1)
    expect(await call(NO_ORDER)).toMatchObject({ status: 'refused' })
  })
})
