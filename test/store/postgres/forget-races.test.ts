import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { until } from '../../support/faults/until.ts'
import { hasNoPostgres, newPool, openPostgres } from '../../support/postgres/open-postgres.ts'
import { dead, recordOne, runOne } from '../../support/store-steps.ts'

describe.skipIf(hasNoPostgres)('a redelivery of a dead event on PostgreSQL', () => {
  test.each([
    ['forgotten', 'accepted', `delete from hookonce.keys where event_id = $1`],
    ['discarded', 'duplicate', `select 1 where $1::uuid is not null`],
  ])(
    'that waits for an operator is told the truth when the event is %s',
    async (_, status, sql) => {
      const { config, store, query } = await openPostgres()
      await recordOne(store, anEventDraft())
      const eventId = await runOne(store, dead)
      // As an operator's transaction does. When it decides, the redelivery has found the event dead.
      const operator = await newPool(config).connect()
      await operator.query('begin')
      await operator.query('select 1 from hookonce.events where id = $1 for no key update', [
        eventId,
      ])
      const redelivering = recordOne(store, anEventDraft())
      await until('it waits', async () => {
        const rows = await query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      })
      await operator.query(
        `update hookonce.outcomes set state = 'discarded' where event_id = $1 and state = 'dead'`,
        [eventId],
      )
      await operator.query(sql, [eventId])
      await operator.query('commit')

      expect(await redelivering).toMatchObject({ status })
      operator.release()
    },
  )
})
