import { describe, expect, inject, test } from 'vitest'
import { deliver, openInbox, untilDone } from '../support/inbox-under-test.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

const store = postgresUnderTest('PostgreSQL', () => inject('postgres') as ConnectionConfig)

describe.skipIf(hasNoPostgres)('handlers on PostgreSQL', () => {
  test('a statement that the handler did not wait for counts towards its time', async () => {
    const { inbox, deliver, next } = await openInbox(store)
    inbox.on(
      'stripe',
      'invoice.paid',
      { timeoutMs: 200, retry: { firstMs: 0 } },
      (_event, { tx, attempt }) => {
        if (attempt === 1) void tx.query('select pg_sleep(3600)').catch(() => undefined)
      },
    )
    await inbox.start()
    const failed = next('event.failed')
    const done = next('event.done')

    await deliver('evt_1')

    expect(await failed).toMatchObject({ reason: 'timeout' })
    await done
  })

  test('at-least-once handlers that outlast their connection are counted, and dead in the end', async () => {
    const { inbox, another, database } = await openInbox(store)
    const receiver = another({ worker: false })
    for (const key of ['evt_1', 'evt_2']) await deliver(receiver, key)
    const dead = new Set<string>()
    const bothDead = new Promise<void>((resolve) => {
      inbox.events.on('event.dead', ({ key }) => {
        if (dead.add(key).size === 2) resolve()
      })
    })
    const options = { guarantee: 'at-least-once', retry: { attemptsMax: 2, firstMs: 0 } } as const
    inbox.on('stripe', 'invoice.paid', options, async () => {
      await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'`,
      )
    })

    await inbox.start()
    await bothDead

    expect(dead).toEqual(new Set(['evt_1', 'evt_2']))
  })

  test('a handler that sets something of its transaction is not grouped, and no other event sees it', async () => {
    const { inbox, another, database } = await openInbox(store)
    const receiver = another({ worker: false })
    for (let i = 0; i < 20; i += 1) await deliver(receiver, `evt_${i}`)
    inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
      const { rows } = await tx.query(
        `select coalesce(current_setting('app.tenant', true), '') as tenant`,
      )
      await tx.query(`select set_config('app.tenant', $1, true)`, [event.key])
      await tx.query('insert into effects (event_key, note) values ($1, $2)', [
        event.key,
        rows[0]?.['tenant'],
      ])
    })
    const failures: unknown[] = []
    inbox.events.on('event.failed', (failure) => failures.push(failure))
    const allDone = new Promise<void>((resolve) => {
      let done = 0
      inbox.events.on('event.done', () => {
        done += 1
        if (done === 20) resolve()
      })
    })

    await inbox.start()
    await allDone

    expect(failures).toEqual([])
    expect(
      await database.query(
        'select distinct note, count(*)::int as found from effects group by note',
      ),
    ).toEqual([{ note: '', found: 20 }])
  })

  test('groups that were in each other’s way run one after the other, and no attempt is lost', async () => {
    const { inbox, another, database } = await openInbox(store)
    await database.query('create table balance (id integer primary key, amount integer not null)')
    await database.query('insert into balance select id, 0 from generate_series(0, 4) as id')
    const receiver = another({ worker: false })
    const count = 600
    await Promise.all(Array.from({ length: count }, (_, i) => deliver(receiver, `evt_${i}`)))
    let reruns = 0
    let failed = 0
    /** The transactions that ran a handler, in order. */
    const ran: unknown[] = []
    inbox.events.on('event.failed', () => (failed += 1))
    inbox.events.on('group.rerun', () => (reruns += 1))
    const done = untilDone(inbox, count)
    inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
      const n = Number(event.key.slice(4))
      const { rows } = await tx.query('select pg_current_xact_id()::text as xid')
      ran.push(rows[0]!['xid'])
      // Each group meets the rows in another order.
      await tx.query('update balance set amount = amount + 1 where id = $1', [(n * 7) % 5])
      await tx.query('update balance set amount = amount + 1 where id = $1', [(n * 3 + 1) % 5])
    })

    await inbox.start()
    await done

    expect(reruns).toBeGreaterThan(0)
    expect(failed).toBe(0)
    expect(await database.query('select sum(amount)::integer as sum from balance')).toEqual([
      { sum: 2 * count },
    ])
    // Groups that were running when it was noticed are over by then.
    const last = ran.slice(-100)
    const changes = last.filter((xid, at) => at > 0 && last[at - 1] !== xid).length
    expect(changes).toBe(new Set(last).size - 1)
  })
})
