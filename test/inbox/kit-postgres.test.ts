/**
 * Each visit to a point is a database and a run, and one that sends messages takes a second, since a relay on PostgreSQL
 * looks at the whole queue once more before it rests. `npm test` takes the first visits, and sends none; `npm run
 * test:all` takes every one.
 */

import { describe, expect, onTestFinished, test } from 'vitest'
import { destination } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { crashAt, hookonceMatchers, testInbox } from '../../src/testing/index.ts'
import type { CrashPoint } from '../../src/testing/index.ts'
import type {} from '../../src/testing/runners/vitest.ts'
import { openPostgres } from '../support/postgres/open-postgres.ts'
import { RUNS_ALL } from '../support/slow-tests.ts'

expect.extend(hookonceMatchers)

async function anInbox({ isOutside = false, sends = true } = {}) {
  const { query, pool } = await openPostgres()
  await query('create table paid (invoice text)')
  await query('create table more (invoice text)')
  const t = await testInbox({
    sources: { stripe },
    store: () => postgresStore({ pool }),
    execute: (sql, values) => query(sql, values),
    destinations: sends ? [destination('mail', () => undefined)] : [],
    handlers: (inbox) => {
      inbox.on('stripe', 'invoice.paid', async (event, { tx, send }) => {
        const insert = 'insert into paid values ($1)'
        if (isOutside) await query(insert, [event.key])
        else await tx.query(insert, [event.key])
        if (sends) await send('mail', { invoice: event.key })
      })
      inbox.steps('stripe', 'checkout.session.completed', async (event, step) => {
        await step.call('charge', () => 'ch_1')
        await step.tx('write', async (tx) => {
          await tx.query('insert into paid values ($1)', [event.key])
        })
        await step.tx('write more', async (tx) => {
          const insert = 'insert into more values ($1)'
          if (isOutside) await query(insert, [event.key])
          else await tx.query(insert, [event.key])
        })
      })
    },
  })
  onTestFinished(() => t.close())
  return t
}

describe('the test kit on a store of the user', () => {
  test('each effect is there once, wherever the process dies', async () => {
    const run = async (t: Awaited<ReturnType<typeof anInbox>>) => {
      await t.deliver('stripe', 'invoice.paid', { id: 'evt_1', times: 3, parallel: true })
      await t.deliver('stripe', 'checkout.session.completed', { id: 'evt_2' })
      await t.drain()

      await expect(t).toHaveTakenEffectOnce("select * from paid where invoice = 'evt_1'")
      await expect(t).toHaveTakenEffectOnce('select * from paid where invoice = $1', ['evt_2'])
      await expect(t).toHaveTakenEffectOnce('select * from more')
      if (RUNS_ALL) expect(t.messages('mail')).toHaveBeenSentOnce()
      expect(t.calls('charge')).toHaveBeenMadeOnce()
    }

    const make = () => anInbox({ sends: RUNS_ALL })
    const reached = await crashAt.each(make, run, RUNS_ALL ? {} : { visitsMax: 1 })

    const isReached = (point: CrashPoint) => RUNS_ALL || !point.endsWith('-send')
    expect(reached).toEqual(crashAt.points.filter(isReached))
  })

  test('a handler that writes on another connection beside its `tx` is caught', async () => {
    const t = await anInbox({ isOutside: true, sends: false })
    t.crashAt('before-commit')
    await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    await expect(expect(t).toHaveTakenEffectOnce('select * from paid')).rejects.toThrow(
      /there 2 times[^]*died at "before-commit"[^]*not written through `tx`/,
    )
  })

  test('a second step that writes on another connection is caught by a death in it', async () => {
    const t = await anInbox({ isOutside: true, sends: false })
    t.crashAt('before-commit', { nth: 2 })
    await t.deliver('stripe', 'checkout.session.completed')
    await t.drain()

    await expect(t).toHaveTakenEffectOnce('select * from paid')
    await expect(expect(t).toHaveTakenEffectOnce('select * from more')).rejects.toThrow(
      /there 2 times[^]*died at "before-commit"[^]*not through the `tx` of it/,
    )
  })

  test('its clock says what it lacks where it cannot write', async () => {
    const { pool } = await openPostgres()
    const t = await testInbox({
      sources: { stripe },
      store: () => postgresStore({ pool }),
      handlers: () => undefined,
    })
    onTestFinished(() => t.close())

    await expect(t.clock.advance({ hours: 1 })).rejects.toThrow('Give execute: (sql, values) =>')
  })
})
