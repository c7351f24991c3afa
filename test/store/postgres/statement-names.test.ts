import { describe, expect, inject, test } from 'vitest'
import { deliver, openInbox, untilDone } from '../../support/inbox-under-test.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import { findPgBouncer, startPgBouncer } from '../../support/postgres/start-pgbouncer.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'

const COUNT_NAMES = `select count(*)::integer as names from pg_prepared_statements where name like 'hookonce%'`
const store = postgresUnderTest('PostgreSQL', () => inject('postgres') as ConnectionConfig)

async function countNamesIn(
  config: ConnectionConfig,
  said = 'select $1::integer',
): Promise<unknown> {
  const opened = await openStoreOn({ ...config, max: 8 })
  const drafts = Array.from({ length: 2 }, (_, n) => anEventDraft({ key: `evt_${n}` }))
  await opened.events.record(drafts, { deadlineMs: 20_000 })
  const group = await opened.queue.claim(aClaim())
  const { tx } = group!.lend()
  for (let i = 0; i < 10; i += 1) await tx.query(said, [i])
  const { rows } = await tx.query<{ names: number }>(COUNT_NAMES)
  await group!.abandon()
  return rows[0]?.names
}

describe.skipIf(hasNoPostgres)('what handlers say again and again', () => {
  test('is prepared once for a connection that stays with its backend', async () => {
    expect(await countNamesIn(await createPostgresDatabase())).toBe(1)
  })

  test('is not kept, here or there, where the text is as long as one with its values in it', async () => {
    const long = `select $1::integer, '${'a'.repeat(10_000)}'`

    expect(await countNamesIn(await createPostgresDatabase(), long)).toBe(0)
  })

  const binary = findPgBouncer()
  test.skipIf(binary === undefined)('is not prepared behind a transaction pooler', async () => {
    const config = await startPgBouncer(String(binary), await createPostgresDatabase())

    expect(await countNamesIn(config)).toBe(0)
  })

  test.each([
    ['a handler deallocates everything', 'deallocate all'],
    ['a table gets a column under select *', 'alter table shape add column more integer'],
  ])('costs no attempt when %s', async (_, statement) => {
    // They run in groups, however long they take, and on one connection, which has a name for what is said.
    const { inbox, another, database } = await openInbox(store, {
      worker: { concurrency: 1, groupBudgetMs: 600_000 },
    })
    await database.query('create table shape (id integer)')
    await database.query('insert into shape values (1)')
    const receiver = another({ worker: false })
    for (let i = 0; i < 60; i += 1) await deliver(receiver, `evt_${i}`)
    let failed = 0
    let reruns = 0
    inbox.events.on('event.failed', () => (failed += 1))
    inbox.events.on('group.rerun', () => (reruns += 1))
    const done = untilDone(inbox, 60)
    let calls = 0
    inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
      calls += 1
      if (calls === 12) await tx.query(statement)
      await tx.query('select * from shape where id = $1', [1])
      await tx.query('insert into effects values ($1, $2)', [event.key, 'once'])
    })

    await inbox.start()
    await done

    expect(failed).toBe(0)
    expect(reruns).toBeGreaterThan(0)
    const effects = await database.query('select count(*)::integer as n from effects')
    expect(effects).toEqual([{ n: 60 }])
  })
})
