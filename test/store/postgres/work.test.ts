import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { deliver, openInbox, untilDone } from '../../support/inbox-under-test.ts'
import { hasNoPostgres } from '../../support/postgres/open-postgres.ts'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'

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
    // For how long they take turns is a time, and however busy the machine is, none of it passes here.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    // Nor is a slot kept free, or one group so large that there is none for the other slot to clash with.
    const worker = { concurrency: 2, reserved: 0, groupMax: 20 }
    const { inbox, another, database } = await openInbox(store, { worker })
    await database.query('create table balance (id integer primary key, amount integer not null)')
    await database.query('insert into balance values (0, 0), (1, 0)')
    const receiver = another({ worker: false })
    const count = 400
    await Promise.all(Array.from({ length: count }, (_, i) => deliver(receiver, `evt_${i}`)))
    let reruns = 0
    let failed = 0
    inbox.events.on('event.failed', () => (failed += 1))
    inbox.events.on('group.rerun', () => (reruns += 1))
    const done = untilDone(inbox, count)
    /** The transactions that ran a handler, in order. */
    const ran: string[] = []
    const add = 'update balance set amount = amount + 1 where id = $1'
    const parties: string[] = []
    const clash = createClash(parties)
    const isGroup = (xid: string): boolean => ran.filter((each) => each === xid).length > 1
    // The first of them waits until the other slot has a group too, however long that takes.
    inbox.on('stripe', 'invoice.paid', { timeoutMs: 60_000 }, async (event, { tx }) => {
      const { rows } = await tx.query('select pg_current_xact_id()::text as xid')
      const xid = String(rows[0]!['xid'])
      ran.push(xid)
      // One that runs alone locks nothing. It would wait for the row of a group that waits for another group.
      if (isGroup(xid)) await clash(xid, (row) => tx.query(add, [row]))
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
    })

    await inbox.start()
    await done

    expect(reruns).toBeGreaterThan(0)
    expect(failed).toBe(0)
    expect(
      await database.query(
        'select count(*)::int, count(distinct event_key)::int as keys from effects',
      ),
    ).toEqual([{ count, keys: count }])
    // The two that clashed were running when it was noticed. One alone takes no turn.
    const inTurn = ran.filter((xid) => !parties.includes(xid) && isGroup(xid))
    const changes = inTurn.filter((xid, at) => at > 0 && inTurn[at - 1] !== xid).length
    expect(changes).toBeGreaterThan(1)
    expect(changes).toBe(new Set(inTurn).size - 1)
  })
})

/** Makes the first two transactions each lock a row, and then want the other's. */
function createClash(
  parties: string[],
): (xid: string, lock: (row: number) => Promise<unknown>) => Promise<void> {
  let meet: () => void = () => undefined
  const met = new Promise<void>((resolve) => (meet = resolve))
  return async (xid, lock) => {
    if (parties.length === 2 || parties.includes(xid)) return
    const row = parties.push(xid) - 1
    await lock(row)
    if (row === 1) meet()
    await met
    await lock(1 - row)
  }
}
