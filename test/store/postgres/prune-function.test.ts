import { describe, expect, test } from 'vitest'
import { findExcess } from '../../../src/retention/excess.ts'
import { limitsAt } from '../../../src/retention/limits.ts'
import { RETENTION_DEFAULTS } from '../../../src/retention/options.ts'
import type { PruneSurvey } from '../../../src/store/contract/retention.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { policyIn } from '../../support/retention-steps.ts'
import { dead, done, recordOne, runOne } from '../../support/store-steps.ts'

const DAY_MS = 86_400_000

describe.skipIf(hasNoPostgres)('select hookonce.prune()', () => {
  test('removes what has ended, by the policy that an inbox has written down', async () => {
    const { store, query } = await openPostgres()
    await recordOne(store, anEventDraft({ key: 'done' }))
    await runOne(store, done)
    const died = await recordOne(store, anEventDraft({ key: 'dead' }))
    await runOne(store, dead)
    await store.retention.keepPolicy(JSON.stringify(policyIn(46)))

    expect(await query('select hookonce.prune() as result')).toEqual([
      {
        result: {
          status: 'done',
          more: false,
          removed: {
            events: 1,
            requests: 0,
            attempts: 0,
            steps: 0,
            deliveries: 0,
            messages: 0,
            runs: 0,
            audit: 0,
            bulks: 0,
            keys: 1,
            lanes: 0,
            outcomes: 1,
            discarded: 0,
          },
        },
      },
    ])
    expect(await store.operators.findEvent(died.eventId)).toMatchObject({ state: 'dead' })
    expect(await recordOne(store, anEventDraft({ key: 'done' }))).toMatchObject({
      status: 'accepted',
    })
  })

  test('removes nothing while it is not known how long things are kept', async () => {
    const { query } = await openPostgres()

    expect(await query('select hookonce.prune() as result')).toMatchObject([
      { result: { status: 'refused', code: 'RETENTION_UNKNOWN' } },
    ])
  })

  test('P07: stops where a run of a process would', async () => {
    const { store, query } = await openPostgres()
    await recordOne(store, anEventDraft())
    await runOne(store, done)
    await store.retention.keepPolicy(JSON.stringify(policyIn(46)))
    const last = { atMs: Date.now() - 60 * DAY_MS, usualEvents: 0, usualKeys: 0 }
    await store.retention.noteRun(last)

    expect(await query('select hookonce.prune() as result')).toMatchObject([
      { result: { status: 'refused', code: 'PRUNE_UNUSUAL' } },
    ])
    expect(await store.operators.countEvents()).toBe(1)
  })

  test.each([
    { there: 10_000, old: 2_001, pauseDays: 1, usual: 0 },
    { there: 10_000, old: 2_000, pauseDays: 1, usual: 0 },
    { there: 10_000, old: 3_000, pauseDays: 1, usual: 1_499 },
    { there: 10_000, old: 3_000, pauseDays: 1, usual: 1_500 },
    { there: 1_000, old: 1_000, pauseDays: 7, usual: 0 },
    { there: 1_000, old: 1_001, pauseDays: 7, usual: 0 },
    { there: 10, old: 3, pauseDays: 9, usual: 100 },
    { there: 10, old: 2, pauseDays: 9, usual: 100 },
    { there: 10, old: 3, pauseDays: -1, usual: 100 },
    { there: 0, old: 0, pauseDays: 100, usual: 0 },
  ])('has the rule of a process: %j', async ({ there, old, pauseDays, usual }) => {
    const { query } = await openPostgres()
    const nowMs = Date.now()
    const limits = limitsAt(RETENTION_DEFAULTS, nowMs)
    const last = { atMs: nowMs - pauseDays * DAY_MS, usualEvents: usual, usualKeys: usual }
    const survey: PruneSurvey = {
      nowMs,
      limits,
      events: { there, old, expected: 1 / 30 },
      keys: { there: 0, old: 0, expected: 0 },
      last,
    }

    const [row] = await query('select hookonce.is_prune_excessive($1, $2, $3, $4) as found', [
      JSON.stringify({ there, old }),
      limits.done,
      JSON.stringify(last),
      usual,
    ])

    expect(row?.['found']).toBe(findExcess(survey) !== undefined)
  })
})
