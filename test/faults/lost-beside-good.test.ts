import pg from 'pg'
import { expect, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import type { QueryTx } from '../support/store-under-test.ts'

const EACH = 30
const LATER = { retry: { firstMs: 3_600_000 } }
/**
 * Thirty pauses that grow to two seconds are fifty seconds in all. A new connection each, on a busy machine, is a few;
 * how long they take there is measured, too.
 */
const NOISE_MS = 15_000

test('H35: events whose handlers lose their connection hold up the others no more than those that throw', async () => {
  const throwing = await drain(() => {
    throw new Error('a plain error')
  })
  const losing = await drain(async (tx) => {
    // A role may not end another role's connection, but may end its own.
    await tx.query('select pg_terminate_backend(pg_backend_pid())')
  })

  expect(losing.reasons).toEqual(new Set(['connection']))
  expect(throwing.reasons).toEqual(new Set(['error']))
  const connectingMs = await measureConnecting()
  const limitMs = Math.max(10 * throwing.tookMs, 10 * connectingMs, NOISE_MS)
  expect(losing.tookMs).toBeLessThan(limitMs)
}, 180_000)

/** As many new connections as the handlers lose. */
async function measureConnecting(): Promise<number> {
  const { store } = await createFaultDatabase('postgres')
  if (store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const startedAt = performance.now()
  for (let n = 0; n < EACH; n += 1) {
    const client = new pg.Client(store.connection)
    await client.connect()
    await client.end()
  }
  return performance.now() - startedAt
}

/**
 * Bad events and behind them good ones, on one slot, until the last of them has run. Between the bad ones a good one
 * would begin the pauses anew, and hide them.
 */
async function drain(fail: (tx: QueryTx) => Promise<void> | void) {
  const database = await createFaultDatabase('postgres')
  const worker = createFaultInbox(database, { worker: { concurrency: 1 } })
  const keys = ['bad', 'good'].flatMap((kind) =>
    Array.from({ length: EACH }, (_, n) => `${kind}_${n}`),
  )
  for (const key of keys) await accept(worker, fromPartner({ key }))
  worker.inbox.on('partner', '*', LATER, async (event, { tx }) => {
    await tx.query('insert into effects values ($1, $2)', [event.key, 'ran'])
    if (event.key.startsWith('bad')) await fail(tx)
  })
  const startedAt = performance.now()
  await worker.inbox.start()
  await until(
    'all have run',
    () => worker.count('event.done') === EACH && worker.count('event.failed') === EACH,
    { limitMs: 120_000 },
  )
  const tookMs = performance.now() - startedAt
  expect(await database.listWrongEffects(keys.filter((key) => key.startsWith('good')))).toEqual([])
  return { tookMs, reasons: new Set(reasonsOf(worker)) }
}

function reasonsOf({ happened }: FaultInbox): unknown[] {
  return happened.flatMap(({ about }) => ('reason' in about ? [about.reason] : []))
}
