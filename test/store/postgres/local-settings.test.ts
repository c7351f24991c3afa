import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { asError } from '../../../src/errors.ts'
import { destination } from '../../../src/outbox/destination.ts'
import { createFaultDatabase } from '../../support/faults/fault-database.ts'
import type { FaultDatabase } from '../../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../../support/faults/fault-inbox.ts'
import { forSteps, fromPartner } from '../../support/faults/fault-sources.ts'
import { until } from '../../support/faults/until.ts'
import { hasNoPostgres } from '../../support/postgres/open-postgres.ts'

const WRITE = 'insert into public.effects values ($1, $2)'
const ALONE = { groupMax: 1 }

/** As the documentation advises it for one that runs alone. `{role}` may write effects, and nothing of ours. */
const SETTINGS = [
  ['role', 'set local role {role}'],
  ['role', `select set_config('role', '{role}', true)`],
  ['session_authorization', 'set local session authorization {role}'],
  ['search_path', `set local search_path = ''`],
  ['row_security', 'set local row_security = off'],
  // Hidden in a function.
  ['role', `select become('{role}')`],
  // What is ours takes longer here.
  ['statement_timeout', `set local statement_timeout = '1s'`],
  ['lock_timeout', `set local lock_timeout = '1ms'`],
  ['idle_in_transaction_session_timeout', `set local idle_in_transaction_session_timeout = '60s'`],
  ['session_replication_role', 'set local session_replication_role = replica'],
  ['client_min_messages', 'set local client_min_messages = error'],
  ['array_nulls', 'set local array_nulls = off'],
  ['app.tenant', `set local app.tenant = 'a'`],
] as const

describe.skipIf(hasNoPostgres).each(SETTINGS)('with a local %s, made by %s', (name, statement) => {
  let scene: Scene
  beforeEach(async () => {
    scene = await prepare()
    if (name === 'statement_timeout') await slowDown(scene.database)
  })
  const set = () => statement.replace('{role}', scene.role)

  test('H41: an event that runs alone is settled, and what it sends is sent', async () => {
    const { database, worker, sent } = scene
    worker.inbox.on('partner', '*', ALONE, async (event, { tx, send }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      await tx.query(set())
      await send('sink', {})
    })

    await runOne(worker, fromPartner({ key: 'evt_0' }))

    expect(await worker.getEvent('evt_0')).toMatchObject({
      outcome: { state: 'done', attempts: 1 },
      failures: [],
    })
    expect(await database.listWrongEffects(['evt_0'])).toEqual([])
    expect(await database.query('select reason, result from hookonce.outcomes')).toEqual([
      { reason: null, result: null },
    ])
    await until('it is sent', () => sent.length === 1)
  })

  test('H41: what is sent in the midst of it is sent, and the setting is there again', async () => {
    const { worker, sent } = scene
    const seen: unknown[] = []
    worker.inbox.on('partner', '*', ALONE, async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      await tx.query(set())
      const look = `select pg_catalog.current_setting('${name}') as found`
      seen.push((await tx.query(look)).rows)
      await worker.inbox.outbox.send(tx, 'sink', {}, { key: event.key })
      seen.push((await tx.query(look)).rows)
    })

    await runOne(worker, fromPartner({ key: 'evt_0' }))

    expect((await worker.getEvent('evt_0')).failures).toEqual([])
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    await until('it is sent', () => sent.length === 1)
  })

  test('H41: a step is kept, and what it sends is sent', async () => {
    const { database, worker, sent } = scene
    worker.inbox.steps('partner', '*', async (event, step) => {
      await step.tx('write', async (tx, { send }) => {
        await tx.query(WRITE, [event.key, 'ran'])
        await tx.query(set())
        await send('sink', {})
      })
    })

    await runOne(worker, forSteps({ key: 'evt_0' }))

    expect((await worker.getEvent('evt_0')).failures).toEqual([])
    expect(await database.listWrongEffects(['evt_0'])).toEqual([])
    await until('it is sent', () => sent.length === 1)
  })

  test('H41: it is gone when a neighbour of the same connection runs', async () => {
    const { database, worker } = scene
    const before = await currentSetting(database, name)
    const seen: unknown[] = []
    worker.inbox.on('partner', '*', ALONE, async (event, { tx }) => {
      const { rows } = await tx.query(`select current_setting('${name}', true) as found`)
      seen.push(OURS.has(name) ? before : (rows[0]?.['found'] ?? ''))
      await tx.query(WRITE, [event.key, 'ran'])
      await tx.query(set())
    })

    await runOne(worker, fromPartner({ key: 'evt_0' }), fromPartner({ key: 'evt_1' }))

    expect(seen).toEqual([before, before])
  })
})

test
  .skipIf(hasNoPostgres)
  .each([
    'set local transaction_read_only = on',
    `select set_config('transaction_read_only', 'on', true)`,
    'do $$ begin set local transaction_read_only = on; end $$',
  ])('H41: what would keep an event from being settled is refused: %s', async (statement) => {
  const { worker } = await prepare()
  worker.inbox.on('partner', '*', { ...ALONE, retry: { attemptsMax: 1 } }, async (_, { tx }) => {
    await tx.query(statement)
  })

  await worker.inbox.start()
  await accept(worker, fromPartner({ key: 'evt_0' }))
  await worker.untilHappened('event.dead')

  expect(await worker.getEvent('evt_0')).toMatchObject({
    outcome: { state: 'dead', attempts: 1 },
    failures: [{ message: expect.stringContaining('transaction_read_only is refused') as string }],
  })
})

test.skipIf(hasNoPostgres)(
  'H41: a handler that sends through the outbox shares its transaction with others',
  async () => {
    const { database, worker, sent } = await prepare()
    const keys = Array.from({ length: 10 }, (_, n) => `evt_${n}`)
    const xids = new Set<unknown>()
    for (const key of keys) await accept(worker, fromPartner({ key }))
    worker.inbox.on('partner', '*', async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      await worker.inbox.outbox.send(tx, 'sink', {}, { key: event.key })
      xids.add((await tx.query('select pg_current_xact_id()::text as xid')).rows[0]?.['xid'])
    })

    await worker.inbox.start()
    await until('all are sent', () => sent.length === keys.length)

    expect(await database.listWrongEffects(keys)).toEqual([])
    expect(xids.size).toBeLessThan(keys.length)
  },
)

/** A transaction of ours has its own. */
const OURS: ReadonlySet<string> = new Set([
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
])

interface Scene {
  readonly database: FaultDatabase
  readonly worker: FaultInbox
  readonly role: string
  readonly sent: string[]
}

async function prepare(): Promise<Scene> {
  const database = await createFaultDatabase('postgres')
  const [found] = await database.query('select current_database() as name')
  const role = `tenant_of_${String(found?.['name'])}`
  await database.query(`create role ${role}`)
  onTestFinished(async () => {
    await database.query(`drop owned by ${role}`)
    await database.query(`drop role ${role}`)
  })
  await database.query(`grant all on effects to ${role}`)
  await database.query(`create function become(who text) returns void language plpgsql as
    $$ begin perform set_config('role', who, true); end $$`)
  const sent: string[] = []
  const worker = createFaultInbox(database, {
    // However slow the machine is, they are grouped.
    worker: { concurrency: 1, groupBudgetMs: 60_000 },
    relay: {},
    destinations: [
      destination('sink', ({ key }) => {
        sent.push(key)
      }),
    ],
  })
  return { database, worker, role, sent }
}

/** Makes what we write for a handler take longer than the limit above. */
async function slowDown(database: FaultDatabase): Promise<void> {
  await database.query(`create function wait_a_little() returns trigger language plpgsql as
    $$ begin perform pg_sleep(2); return new; end $$`)
  for (const table of ['outcomes', 'steps', 'messages'])
    await database.query(`create trigger wait_a_little before insert on hookonce.${table}
      for each row execute function wait_a_little()`)
}

async function currentSetting(database: FaultDatabase, name: string): Promise<unknown> {
  const rows = await database.query('select current_setting($1, true) as found', [name])
  return rows[0]?.['found'] ?? ''
}

async function runOne(
  worker: FaultInbox,
  ...deliveries: Parameters<typeof accept>[1][]
): Promise<void> {
  await worker.inbox.start()
  for (const delivery of deliveries) await accept(worker, delivery)
  await until('all have ended', () => {
    for (const { name, about } of worker.happened)
      if (name === 'event.failed' && 'error' in about) throw asError(about.error)
    return worker.count('event.done') === deliveries.length
  })
}
