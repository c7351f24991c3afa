/**
 * PostgreSQL compiles what it thinks is dear, which takes up to a second and is done anew for each run. The
 * servers that the other tests use cannot compile; most others can, and do so by default.
 */

import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { claimOne, enqueue, sent } from '../../support/outbox-steps.ts'
import { findBinaries } from '../../support/postgres/find-binaries.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { startPostgres } from '../../support/postgres/start-postgres.ts'
import { done, recordOne, retryIn, runOne } from '../../support/store-steps.ts'

/** Every statement's plan is told to the client that has sent it, those inside functions included. */
const TELL_PLANS = [
  '-c session_preload_libraries=auto_explain',
  '-c auto_explain.log_min_duration=0',
  '-c auto_explain.log_nested_statements=on',
  '-c auto_explain.log_analyze=on',
  '-c client_min_messages=log',
].join(' ')

describe.skipIf(findBinaries('debian15') === undefined)('on a server that compiles', () => {
  test('nothing is compiled to record, claim, settle, lease or send a few events, or to keep the clock', async () => {
    await using server = await startPostgres({ version: 'debian15' })
    const pool = new pg.Pool({ ...(await server.createDatabase()), options: TELL_PLANS })
    const store = postgresStore({ pool })
    const plans: string[] = []
    pool.on('connect', (client) => client.on('notice', ({ message = '' }) => plans.push(message)))
    await store.open()
    const { rows } = await pool.query('select pg_jit_available() as can_compile')
    expect(rows).toEqual([{ can_compile: true }])

    for (const key of ['evt_1', 'evt_2']) await recordOne(store, anEventDraft({ key }))
    await runOne(store, done)
    await runOne(store, retryIn(0))
    await runOne(store, done, { kind: 'again' })
    await enqueue(store, {})
    await store.messages.settle([sent(await claimOne(store))])
    await recordOne(store, anEventDraft({ key: 'evt_3' }))
    const leased = await leaseOne(store)
    await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])
    await store.events.keepClock({ always: true })
    await store.close()
    await pool.end()

    expect(plans.filter((plan) => plan.includes('skip locked')).length).toBeGreaterThan(5)
    expect(plans.filter((plan) => plan.includes('JIT:'))).toEqual([])
  })
})

describe.skipIf(hasNoPostgres)('on any server', () => {
  test('a function that is told how to plan is told not to compile', async () => {
    const { query } = await openPostgres()

    const functions = await query(
      `select proname, 'jit=off' = any(proconfig) as is_told
         from pg_proc
        where pronamespace = 'hookonce'::regnamespace and proconfig::text like '%enable_%'
        order by proname`,
    )

    expect(functions.filter(({ is_told: isTold }) => isTold !== true)).toEqual([])
    expect(functions.map(({ proname }) => proname)).toEqual(
      expect.arrayContaining(['claim_fresh', 'look', 'prune_payloads', 'settle_resting']),
    )
  })
})
