import { describe, expect, test } from 'vitest'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import type { EventDraftInput } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { act, claim, dead, retryIn, runOne } from '../../support/store-steps.ts'

const MIB = 1024 * 1024
const WRONG = `
  select e.event_key, q.bytes, octet_length(e.body) as is
    from hookonce.queue q
    join hookonce.events e on e.id = q.event_id
   where q.bytes <> octet_length(e.body)`

async function record(store: PostgresStore, drafts: readonly EventDraftInput[]) {
  return store.events.record(drafts.map(anEventDraft), { deadlineMs: 20_000 })
}

describe.skipIf(hasNoPostgres)('the size of a body that the queue knows', () => {
  test('is right however the event got there', async () => {
    const { store, query } = await openPostgres()
    await record(store, [
      { key: 'a', body: 'é' },
      { key: 'b', body: '' },
    ])
    // A batch of which not all is new, with a conflict, known bytes and one without a key.
    const answers = await record(store, [
      { key: 'a', body: 'é' },
      { key: 'a', body: 'another' },
      { key: 'c', body: 'watched', sameBytes: 'quarantine' },
      { key: 'd', body: 'watched', sameBytes: 'quarantine' },
      { key: undefined, body: 'without a key' },
      { key: 'e', body: 'x'.repeat(10_000) },
    ])

    expect(answers.map(({ status }) => status)).toEqual([
      'duplicate',
      'conflict',
      'accepted',
      'quarantined',
      'quarantined',
      'accepted',
    ])
    expect(await query('select 1 from hookonce.queue')).toHaveLength(7)
    expect(await query(WRONG)).toEqual([])
  })

  test('bounds a claim of events that run again: retried, revived, or after a failed attempt', async () => {
    const { store, query } = await openPostgres()
    const bodies = ['a', 'b', 'c'].map((key, n) => ({
      key,
      body: new Uint8Array(9 * MIB).fill(n + 1),
    }))
    await record(store, bodies)
    const retried = await runOne(store, dead)
    await runOne(store, dead)
    await act(store, 'retry', retried)
    expect(await record(store, [bodies[1]!])).toMatchObject([{ status: 'revived' }])
    expect(await query(WRONG)).toEqual([])

    const group = await claim(store)
    expect(group.events).toHaveLength(1)
    await group.settle(group.events.map(retryIn(0)))
    await group.commit()

    expect(await query(WRONG)).toEqual([])
    expect(await query('select 1 from hookonce.queue')).toHaveLength(3)
  })
})
