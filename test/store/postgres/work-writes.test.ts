import { describe, expect, inject, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { deliver, openInbox } from '../../support/inbox-under-test.ts'
import type { InboxSetup, TestInbox } from '../../support/inbox-under-test.ts'
import { hasNoPostgres } from '../../support/postgres/open-postgres.ts'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'
import type { DatabaseUnderTest, StoreUnderTest } from '../../support/store-under-test.ts'

const store = postgresUnderTest('PostgreSQL', () => inject('postgres') as ConnectionConfig)
const WRITE = 'insert into effects (event_key, note) values ($1, $2)'
/** Said in the text as well, so that it can be found among what the server is doing. */
const SLEEP = 'select pg_sleep(600) /* of a write */'

/** However slow the machine is, they are grouped. */
const TOGETHER = { worker: { groupBudgetMs: 60_000 } }

async function prepare(count: number, setup: InboxSetup = {}, underTest = store) {
  const opened = await openInbox(underTest, setup)
  const receiver = opened.another({ worker: false })
  await Promise.all(Array.from({ length: count }, (_, n) => deliver(receiver, `evt_${n}`)))
  const listWrong = async () => {
    const rows = await opened.database.query(
      'select event_key, count(*)::integer as found from effects group by event_key',
    )
    const found = new Map(rows.map((row) => [row['event_key'], row['found']]))
    const keys = Array.from({ length: count }, (_, n) => `evt_${n}`)
    return keys.filter((key) => found.get(key) !== 1)
  }
  return { ...opened, listWrong }
}

describe.skipIf(hasNoPostgres)('handlers that write without waiting on PostgreSQL', () => {
  test('are past their time when what they wrote is, and their neighbours are not', async () => {
    const { inbox, database, listWrong } = await prepare(30)
    const failed: { key: string; reason: string; code: unknown }[] = []
    inbox.events.on('event.failed', ({ key, reason, error }) =>
      failed.push({ key, reason, code: (error as { code?: unknown }).code }),
    )
    inbox.on(
      'stripe',
      'invoice.paid',
      // Also the time of the thirty, sent together by a machine that is busy.
      { timeoutMs: 3_000, retry: { firstMs: 0 } },
      (event, { tx, attempt }) => {
        tx.write(WRITE, [event.key, 'noted'])
        if (event.key === 'evt_7' && attempt === 1) tx.write(SLEEP)
      },
    )
    const done = untilDone(inbox, 30)

    await inbox.start()
    await done

    expect(failed).toEqual([{ key: 'evt_7', reason: 'timeout', code: 'HANDLER_TIMEOUT' }])
    expect(await listWrong()).toEqual([])
    expect(await countSleeping(database)).toBe(0)
  })

  test('and meet each other on the same rows lose nothing, and no attempt', async () => {
    const { inbox, database } = await prepare(400)
    await database.query('create table balance (id integer primary key, amount integer not null)')
    await database.query('insert into balance select id, 0 from generate_series(0, 4) as id')
    let failed = 0
    inbox.events.on('event.failed', () => (failed += 1))
    inbox.on('stripe', 'invoice.paid', (event, { tx }) => {
      const n = Number(event.key.slice(4))
      // Each group meets the rows in another order.
      tx.write('update balance set amount = amount + 1 where id = $1', [(n * 7) % 5])
      tx.write('update balance set amount = amount + 1 where id = $1', [(n * 3 + 1) % 5])
    })
    const done = untilDone(inbox, 400)

    await inbox.start()
    await done

    expect(failed).toBe(0)
    expect(await database.query('select sum(amount)::integer as sum from balance')).toEqual([
      { sum: 800 },
    ])
  })

  test('are rolled back without a lost attempt when the worker is stopped while they are sent', async () => {
    const {
      inbox,
      database,
      store: reader,
      countEffects,
    } = await prepare(5, {
      worker: { stopGraceMs: 0 },
    })
    inbox.on('stripe', 'invoice.paid', (event, { tx }) => {
      tx.write(WRITE, [event.key, 'noted'])
      tx.write(SLEEP)
    })
    await inbox.start()
    await expect.poll(() => countSleeping(database)).toBeGreaterThan(0)

    await inbox.stop()

    expect(await countSleeping(database)).toBe(0)
    expect(await countEffects()).toBe(0)
    for (let n = 0; n < 5; n += 1) {
      const [event] = await reader.operators.listEventsByKey('stripe', `evt_${n}`)
      expect(event).toMatchObject({ state: 'ready', attempts: 0, failures: [] })
    }
  })

  test('are stopped at a lock like any other, and go on when it is gone', async () => {
    const { inbox, database, store: writer, countEffects } = await prepare(1, TOGETHER)
    await database.query('create table counters (id integer primary key, n integer not null)')
    await database.query('insert into counters values (1, 0)')
    let failed = 0
    inbox.events.on('event.failed', () => (failed += 1))
    inbox.on('stripe', 'invoice.paid', (event, { tx }) => {
      tx.write(WRITE, [event.key, 'noted'])
      tx.write('update counters set n = n + 1')
    })
    // The first runs alone. After it has run, those that come together are grouped.
    const first = untilDone(inbox, 1)
    await inbox.start()
    await first
    // A statement that holds the row until a group has given up waiting for it.
    const hold =
      'with held as (update counters set n = n + 1 returning 1) select pg_sleep(600) from held'
    const released = expect(database.query(hold)).rejects.toMatchObject({ code: '57014' })
    await expect.poll(() => countActive(database, hold)).toBe(1)
    inbox.events.on('group.rerun', () => void cancelActive(database, hold))
    const done = untilDone(inbox, 20)

    const drafts = Array.from({ length: 20 }, (_, n) => anEventDraft({ key: `evt_${n + 1}` }))
    await writer.events.record(drafts, { deadlineMs: 20_000 })
    await Promise.all([released, done])

    expect(failed).toBe(0)
    expect(await countEffects()).toBe(21)
    expect(await database.query('select n from counters')).toEqual([{ n: 21 }])
  })

  test('and take their time before are not claimed by the hundred', async () => {
    const limits: number[] = []
    const { inbox } = await prepare(30, {}, noteLimits(limits))
    inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
      // Whatever a handler may wait for: it counts as well as what it wrote.
      await new Promise((resolve) => setTimeout(resolve, 25))
      tx.write(WRITE, [event.key, 'noted'])
    })
    const done = untilDone(inbox, 30)

    await inbox.start()
    await done

    expect(limits[0]).toBe(1)
    // A database that answers slowly stretches the time of a group to a second at most, which is for forty of them.
    expect(Math.max(...limits)).toBeLessThan(50)
  })
})

/** The store, whose claims of what never ran say how many they ask for. */
function noteLimits(limits: number[]): StoreUnderTest {
  const create = async (): Promise<DatabaseUnderTest> => {
    const database = await store.create()
    const newStore: DatabaseUnderTest['newStore'] = (options) => {
      const made = database.newStore(options)
      const claimGroup = made.queue.claim.bind(made.queue)
      made.queue.claim = (request) => {
        if (request.kind === 'fresh') limits.push(request.topics[0]?.limit ?? 0)
        return claimGroup(request)
      }
      return made
    }
    return { ...database, newStore }
  }
  return { ...store, create }
}

function untilDone(inbox: TestInbox, count: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0
    inbox.events.on('event.done', () => {
      seen += 1
      if (seen === count) resolve()
    })
  })
}

function countSleeping(database: DatabaseUnderTest): Promise<number> {
  return countActive(database, SLEEP)
}

const ACTIVE = `
    from pg_stat_activity
   where datname = current_database() and state = 'active' and query = $1`

async function countActive(database: DatabaseUnderTest, text: string): Promise<number> {
  return (await database.query(`select 1 ${ACTIVE}`, [text])).length
}

async function cancelActive(database: DatabaseUnderTest, text: string): Promise<void> {
  await database.query(`select pg_cancel_backend(pid) ${ACTIVE}`, [text])
}
