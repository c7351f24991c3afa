import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { deliver, openInbox, untilDone } from '../../support/inbox-under-test.ts'
import type { TestInbox } from '../../support/inbox-under-test.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'
import { claim } from '../../support/store-steps.ts'

const EFFECT = 'insert into effects values ($1, $2)'
const UPDATE = 'update stock set count = count - 1 where id = $1'

/** On a database whose server can be reached beside the store. */
async function openBeside() {
  const store = postgresUnderTest('PostgreSQL', () => inject('postgres') as ConnectionConfig)
  const opened = await openInbox(store, { worker: { concurrency: 1 } })
  const [row] = await opened.database.query('select current_database() as name')
  const config = { ...(inject('postgres') as ConnectionConfig), database: String(row?.['name']) }
  const pool = newPool(config)
  await pool.query('create table stock (id integer primary key, count integer)')
  await pool.query('insert into stock values (1, 100)')
  return { ...opened, pool }
}

async function deliverAll(receiver: TestInbox, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await deliver(receiver, `evt_${n}`)
}

describe.skipIf(hasNoPostgres)('a savepoint in a transaction that events share', () => {
  // For the sake of the others it waits for a lock only shortly; by itself it would have waited.
  test('does not let a handler take a lock it cannot have yet for one it cannot have at all', async () => {
    const { inbox, another, database, pool } = await openBeside()
    await deliverAll(another({ worker: false }), 10)
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query(UPDATE, [1])
    let caught = 0
    // The first runs alone, where it may wait for the lock for as long as it has time.
    const retry = { firstMs: 1, factor: 1, attemptsMax: 1_000 }
    inbox.on('stripe', 'invoice.paid', { timeoutMs: 500, retry }, async ({ key }, { tx }) => {
      const taken = await tx
        .savepoint(async () => tx.query(UPDATE, [1]))
        .then(
          () => 'taken',
          () => 'given up',
        )
      if (taken === 'given up') caught += 1
      await tx.query(EFFECT, [key, taken])
    })
    const done = untilDone(inbox, 10)

    await inbox.start()
    await expect.poll(() => caught).toBeGreaterThan(0)
    await holder.query('rollback')
    holder.release()
    await done

    expect(await database.query('select note from effects')).toEqual(
      Array.from({ length: 10 }, () => ({ note: 'taken' })),
    )
  })

  test('lets a handler see that a row is held where it has asked for that', async () => {
    const { inbox, another, database, pool } = await openBeside()
    await deliverAll(another({ worker: false }), 2)
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query(UPDATE, [1])
    inbox.on('stripe', 'invoice.paid', async ({ key }, { tx }) => {
      const note = await tx
        .savepoint(async () => tx.query('select from stock where id = $1 for update nowait', [1]))
        .then(
          () => 'taken',
          () => 'held',
        )
      await tx.query(EFFECT, [key, note])
    })
    const done = untilDone(inbox, 2)

    await inbox.start()
    await done
    await holder.query('rollback')
    holder.release()

    expect(await database.query('select note from effects')).toEqual([
      { note: 'held' },
      { note: 'held' },
    ])
  })

  test('does not let a handler go on without a setting that it can only have alone', async () => {
    const { inbox, another, database } = await openBeside()
    await deliverAll(another({ worker: false }), 10)
    inbox.on('stripe', 'invoice.paid', async ({ key }, { tx }) => {
      await tx
        .savepoint(async () => tx.query(`set local application_name = 'for this event'`))
        .catch(() => undefined)
      const { rows } = await tx.query('show application_name')
      await tx.query(EFFECT, [key, rows[0]?.['application_name']])
    })
    const done = untilDone(inbox, 10)

    await inbox.start()
    await done

    expect(await database.query('select note from effects')).toEqual(
      Array.from({ length: 10 }, () => ({ note: 'for this event' })),
    )
  })

  // A statement that is repeated is prepared, and that one no longer fits a table that was changed.
  test('does not let a handler catch an error about a statement that we prepared', async () => {
    const store = await openStoreOn({ ...(await createPostgresDatabase()), max: 8 })
    const drafts = [anEventDraft({ key: 'evt_1' }), anEventDraft({ key: 'evt_2' })]
    await store.events.record(drafts, { deadlineMs: 20_000 })
    const group = await claim(store)
    onTestFinished(() => group.abandon())
    const lent = group.lend()
    const { tx } = lent
    await tx.query('create table shape (id integer)')
    const select = () => tx.query('select * from shape where id = $1', [1])
    for (let n = 0; n < 10; n += 1) await select()
    expect(() => lent.requireClosed()).not.toThrow()

    await tx.query('alter table shape add column more integer')
    await expect(tx.savepoint(select)).rejects.toMatchObject({ code: '0A000' })

    expect(() => lent.requireClosed()).toThrow(expect.objectContaining({ code: '0A000' }))
  })
})
