import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../../src/model/outcome.ts'
import type { Group } from '../../../src/store/contract/group.ts'
import { aLane, recordKeys, sort } from '../../support/lane-steps.ts'
import { claim, dead, done, NO_ORDER, runOne, unhandled } from '../../support/store-steps.ts'
import { limitsIn, pruneRows } from '../../support/retention-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { DatabaseUnderTest, QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

const HEAD = { kind: 'head' } as const
const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const
const FULL = { ...HEAD, fillsLanes: true } as const

/** What every store must do with lanes. */
export function lanesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: lanes`, () => {
    test('O02: what is behind a dead event does not come with a head that is before it', async () => {
      const { store, database } = await openStore(underTest)
      const [late = ''] = await recordKeys(store, ['K1'])
      await hide(database, late)
      await recordKeys(store, ['K2', 'K3'])
      await sort(store)
      await runOne(store, dead, HEAD)
      await show(database, late)
      await sort(store)

      const group = await claim(store, FULL)

      expect(keysOf(group, 'K')).toEqual(['K1'])
      await group.abandon()
    })

    test('a lane is forgotten when nothing has happened in it for as long as keys are kept', async () => {
      const { store, database } = await openStore(underTest)
      await recordKeys(store, ['K1'])
      const freed = { id: aLane('A', 'after').id, source: 'stripe', key: 'A', type: 'created' }
      await runOne(store, (event) => ({ ...done(event), frees: [freed] }) as Settlement)
      await recordKeys(store, ['L1'])
      await sort(store)
      await runOne(store, done, HEAD)

      const forever = limitsIn(10_000, { keysDays: 'forever' })
      expect(await pruneRows(store, forever)).toMatchObject({ lanes: 0 })
      expect(await pruneRows(store, limitsIn(45))).toMatchObject({ lanes: 0 })
      expect(await countRows(database, 'lane_facts')).toBe(1)
      expect(await pruneRows(store, limitsIn(46))).toMatchObject({ lanes: 2 })
      expect(await countRows(database, 'lane_facts')).toBe(0)
    })

    test('a lane with an event that can still run, one that is blocked and one that is paused stay', async () => {
      const { store, database } = await openStore(underTest)
      await recordKeys(store, ['B1', 'P1'])
      await sort(store)
      await runOne(store, dead, HEAD)
      await runOne(store, done, HEAD)
      await store.pauses.pause({ ...LANE_K, name: 'P' }, NO_ORDER)
      await recordKeys(store, ['R1', 'R2', 'U1'])
      await sort(store)
      await runOne(store, unhandled, HEAD)

      expect(await pruneRows(store, limitsIn(10_000))).toMatchObject({ lanes: 0 })
      expect(await countRows(database, 'lanes')).toBe(4)
    })

    test('how long a lane is kept counts from the last that happened in it', async () => {
      const { store, database } = await openStore(underTest)
      await recordKeys(store, ['K1', 'L1'])
      await sort(store)
      await runOne(store, done, HEAD)
      await ageLanes(database)
      // One ends, and in the other lane there is a new one.
      await runOne(store, done, HEAD)
      await recordKeys(store, ['K2'])
      await sort(store)
      await runOne(store, done, HEAD)

      expect(await pruneRows(store, limitsIn(44))).toMatchObject({ lanes: 0 })
      await ageLanes(database)
      expect(await pruneRows(store, limitsIn(1))).toMatchObject({ lanes: 2 })
    })
  })
}

function keysOf(group: Group<QueryTx>, lane: string): readonly string[] {
  return group.events
    .filter((event) => event.lane?.key === lane)
    .map((event) => (event.lane?.isBehind === true ? `${event.key} behind` : event.key))
}

/** As if its insert were still on its way. */
async function hide({ query }: DatabaseUnderTest, eventId: string): Promise<void> {
  const sql = (queue: string) => `update ${queue} set parked = 'quarantined' where event_id = $1`
  await query(sql('hookonce.queue'), [eventId]).catch(() => query(sql('hookonce_queue'), [eventId]))
}

async function show({ query }: DatabaseUnderTest, eventId: string): Promise<void> {
  const sql = (queue: string) => `update ${queue} set parked = null where event_id = $1`
  await query(sql('hookonce.queue'), [eventId]).catch(() => query(sql('hookonce_queue'), [eventId]))
}

/** As if nothing had happened in any lane for longer than keys are kept. */
async function ageLanes({ query }: DatabaseUnderTest): Promise<void> {
  await query(`update hookonce.lanes set used_at = used_at - interval '46 days'`).catch(() =>
    query(`update hookonce_lanes set used_at = used_at - ${46 * 86_400_000}`),
  )
}

async function countRows({ query }: DatabaseUnderTest, table: string): Promise<number> {
  const rows = await query(`select count(*) as found from hookonce.${table}`).catch(() =>
    query(`select count(*) as found from hookonce_${table}`),
  )
  return Number(rows[0]?.['found'])
}
