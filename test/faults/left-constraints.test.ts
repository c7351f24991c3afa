import { describe, expect, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'

const WRITE = 'insert into effects values ($1, $2)'
const KEYS = Array.from({ length: 12 }, (_, n) => `evt_${n}`)
/** Not the first one: what was written before it must stay as well. */
const CULPRIT = 'evt_2'

// `late` is checked at COMMIT unless a transaction says otherwise, `early` with each statement.
const TABLES = `
  create table parent (id text primary key);
  create table child (
    id    text primary key,
    late  text constraint late_parent references parent deferrable initially deferred,
    early text constraint early_parent references parent deferrable);
  create table watched (n integer);
  create function be_strict() returns void language plpgsql as
  $$ begin set constraints late_parent immediate; end $$;
  create function be_stricter() returns void language plpgsql as $$ begin perform be_strict(); end $$;
  create function be_strict_with_all() returns void language sql as 'set constraints all immediate';
  create function be_strict_for_a_row() returns trigger language plpgsql as
  $$ begin set constraints late_parent immediate; return new; end $$;
  create trigger be_strict before insert on watched for each row execute function be_strict_for_a_row()`

const CHILD_FIRST = 'insert into child (id, late) values ($1, $1)'
const PARENT_LATER = 'insert into parent values ($1)'
const ORPHAN = `insert into child (id, early) values ($1, 'none')`

const STRICT = [
  'set constraints late_parent immediate',
  'SET /* all of them */ CONSTRAINTS ALL IMMEDIATE',
  'do $$ begin set constraints late_parent immediate; end $$',
  'do $$ begin set constraints all immediate; end $$',
  `do $$ begin execute 'set constraints all immediate'; end $$`,
  'select be_strict()',
  'select be_stricter()',
  'select be_strict_with_all()',
  'insert into watched values (1)',
]

describe('on PostgreSQL, a handler that has constraints checked at once', () => {
  test.each(STRICT)('H43: does so for itself and for no other event: %s', async (statement) => {
    const { database, worker } = await prepare()
    worker.inbox.on('partner', '*', async (event, { tx }) => {
      await tx.query(CHILD_FIRST, [event.key])
      await tx.query(PARENT_LATER, [event.key])
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key === CULPRIT) await tx.query(statement)
    })

    await runAll(worker)

    expect(worker.count('event.failed')).toBe(0)
    expect(await database.listWrongEffects(KEYS)).toEqual([])
  })

  test.each(STRICT)('H43: does so for no other step: %s', async (statement) => {
    const { database, worker } = await prepare()
    worker.inbox.steps('partner', '*', async (event, step) => {
      await step.tx('write', async (tx) => {
        await tx.query(CHILD_FIRST, [event.key])
        await tx.query(PARENT_LATER, [event.key])
        await tx.query(WRITE, [event.key, 'ran'])
        if (event.key === CULPRIT) await tx.query(statement)
      })
    })

    await runAll(worker)

    expect(worker.count('event.failed')).toBe(0)
    expect(await database.listWrongEffects(KEYS)).toEqual([])
  })

  test('H43: is told at once what is violated, and dies of nothing else', async () => {
    const { worker } = await prepare()
    worker.inbox.on('partner', '*', { retry: { attemptsMax: 1 } }, async (event, { tx }) => {
      await tx.query(CHILD_FIRST, [event.key])
      if (event.key === CULPRIT) await tx.query('set constraints all immediate')
      await tx.query(PARENT_LATER, [event.key])
    })

    await worker.inbox.start()
    await until('the others are done', () => worker.count('event.done') === KEYS.length - 1)
    await worker.untilHappened('event.dead', CULPRIT)

    expect((await worker.getEvent(CULPRIT)).reason).toMatch(/late_parent/)
  })

  test.each(['set constraints all immediate', 'do $$ begin set constraints all immediate; end $$'])(
    'H43: still cannot commit the transaction by itself: %s',
    async (statement) => {
      const { database, worker } = await prepare()
      worker.inbox.on('partner', '*', { groupMax: 1 }, async (event, { tx }) => {
        await tx.query(WRITE, [event.key, 'ran'])
        if (event.key !== CULPRIT) return
        await tx.query(statement)
        const client = await worker.clientOf(tx)
        await client.query('commit').catch(() => undefined)
      })

      await worker.inbox.start()
      await until('the others are done', () => worker.count('event.done') === KEYS.length - 1)
      await worker.untilHappened('event.dead', CULPRIT)

      expect(await database.countEffects(CULPRIT)).toBe(0)
      expect((await worker.getEvent(CULPRIT)).reason).toMatch(/ended the transaction/)
    },
  )

  test('H43: still cannot commit the transaction of a step by itself', async () => {
    const { database, worker } = await prepare([CULPRIT])
    worker.inbox.steps('partner', '*', { retry: { attemptsMax: 1 } }, async (event, step) => {
      await step.tx('write', async (tx) => {
        await tx.query(WRITE, [event.key, 'ran'])
        await tx.query('set constraints all immediate')
        const client = await worker.clientOf(tx)
        await client.query('commit').catch(() => undefined)
      })
    })

    await worker.inbox.start()
    await worker.untilHappened('event.dead', CULPRIT)

    expect(await database.countEffects(CULPRIT)).toBe(0)
  })
})

test('H43: a handler that has constraints checked later does so for no other event', async () => {
  const { database, worker } = await prepare()
  worker.inbox.on('partner', '*', async (event, { tx }) => {
    if (event.key === CULPRIT) await tx.query('set constraints early_parent deferred')
    const note = await tx
      .savepoint((inner) => inner.query(ORPHAN, [event.key]))
      .then(
        () => 'kept for later',
        () => 'refused',
      )
    if (note === 'kept for later') await tx.query(`delete from child where id = $1`, [event.key])
    await tx.query(WRITE, [event.key, note])
  })

  await runAll(worker)

  const notes = await database.query('select event_key, note from effects order by event_key')
  expect(notes).toEqual(
    [...KEYS].sort().map((key) => ({
      event_key: key,
      note: key === CULPRIT ? 'kept for later' : 'refused',
    })),
  )
})

test('H43: a handler that only names such a thing keeps its company', async () => {
  const { database, worker } = await prepare()
  await database.query('create table flags (constraints text)')
  const transactions = new Set<unknown>()
  worker.inbox.on('partner', '*', async (event, { tx }) => {
    const { rows } = await tx.query('select pg_current_xact_id()::text as xid')
    transactions.add(rows[0]!['xid'])
    await tx.query(`update flags set constraints = 'none'`)
    await tx.query(WRITE, [event.key, 'ran'])
  })

  await runAll(worker)

  expect(transactions.size).toBeLessThan(KEYS.length)
})

/** One slot, so that events share their transactions. */
async function prepare(
  keys: readonly string[] = KEYS,
): Promise<{ database: FaultDatabase; worker: FaultInbox }> {
  const database = await createFaultDatabase('postgres')
  await database.query(TABLES)
  const worker = createFaultInbox(database, {
    worker: { concurrency: 1, groupBudgetMs: 60_000, deadAfterMs: 600_000 },
  })
  for (const key of keys) await accept(worker, fromPartner({ key }))
  return { database, worker }
}

async function runAll(worker: FaultInbox): Promise<void> {
  await worker.inbox.start()
  await until(
    'all are done, or one has failed',
    () => worker.count('event.done') === KEYS.length || worker.count('event.failed') > 0,
  )
  await worker.inbox.stop()
}
