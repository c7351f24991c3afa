import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aLeaseRequest } from '../support/lease-steps.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { anEventDraft } from '../support/builders.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import { accept } from '../support/faults/fault-inbox.ts'
import { forSteps, fromPartner } from '../support/faults/fault-sources.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { HASTY, openScene, PATIENT, SOON } from '../support/faults/steps-scene.ts'
import { until } from '../support/faults/until.ts'

describe.each(ENGINES)('leases on %s', (engine) => {
  test('C01: a worker killed after its claim is replaced by the next one, in a second attempt', async () => {
    const { database, other, start, takeOver } = await openScene(engine)
    const victim = await start()
    await accept(other, forSteps({ key: 'evt_1', first: [['kill']], steps: [['tx', 'a']] }))
    expect((await victim.gone).signal).toBe('SIGKILL')

    await takeOver()
    await other.untilHappened('event.done', 'evt_1')

    expect(await database.query('select event_key, note from effects')).toEqual([
      { event_key: 'evt_1:a', note: '2' },
    ])
    expect((await other.getEvent('evt_1')).failures.map(({ reason }) => reason)).toEqual([
      'crashed',
    ])
  })

  test('C11: a worker that is started again as the process it was before takes what that one had', async () => {
    const { database, other, start, takeOver } = await openScene(engine)
    const victim = await start()
    await accept(other, forSteps({ key: 'evt_1', first: [['kill']], steps: [['tx', 'a']] }))
    await victim.gone
    // As in a container, where the next one is process 1 again. PostgreSQL is told nothing of processes.
    if (engine === 'sqlite') {
      await database.query('update hookonce_workers set pid = $1', [process.pid])
    }

    await takeOver()
    await other.untilHappened('event.done', 'evt_1')

    expect(await database.listWrongEffects(['evt_1:a'])).toEqual([])
    expect((await other.getEvent('evt_1')).outcome).toMatchObject({ attempts: 2 })
  })

  test('C02: a frozen worker whose event another one has finished writes nothing when it thaws', async () => {
    const { database, sink, other, start, takeOver } = await openScene(engine)
    const frozen = await start()
    await accept(
      other,
      forSteps({
        key: 'evt_1',
        steps: [
          ['tx', 'a'],
          ['reach', 'inside'],
          ['call', 'b'],
          ['tx', 'c'],
        ],
      }),
    )
    await frozen.untilReached('inside evt_1')
    frozen.signal('SIGSTOP')
    await takeOver()
    await other.untilHappened('event.done', 'evt_1')

    frozen.signal('SIGCONT')
    frozen.goOn('inside evt_1')
    await frozen.untilHappened('lease.lost', 'evt_1')

    expect(await database.listWrongEffects(['evt_1:a', 'evt_1:c'])).toEqual([])
    // Not even the call: that it starts could not be written.
    expect(sink.list()).toHaveLength(1)
    expect((await other.getEvent('evt_1')).outcome).toMatchObject({ state: 'done', attempts: 2 })
  })

  test('C04: a worker whose event loop is blocked loses its lease, says so, and writes nothing more', async () => {
    const { database, other, start, takeOver } = await openScene(engine)
    const file = createSignal()
    const blocked = await start({ worker: { ...HASTY, blockedMs: 0 } })
    await accept(
      other,
      forSteps({
        key: 'evt_1',
        first: [
          ['tx', 'a'],
          ['spin', file.path],
          ['tx', 'b'],
        ],
        steps: [
          ['tx', 'a'],
          ['tx', 'b'],
        ],
      }),
    )
    await until('it spins', async () => (await database.countEffects('evt_1:a')) === 1)
    await takeOver()
    await other.untilHappened('event.done', 'evt_1')

    file.give()
    await blocked.untilHappened('lease.lost', 'evt_1')
    await blocked.untilHappened('worker.late')

    expect(await database.listWrongEffects(['evt_1:a', 'evt_1:b'])).toEqual([])
  })

  test('C12: a worker without a handler for a type leaves its events to one that has it', async () => {
    const { database, other, sink, start } = await openScene(engine)
    const without = await start({ steps: { sink: sink.url, types: 'other.*' } })
    await accept(other, forSteps({ key: 'evt_1', steps: [['tx', 'a']] }))
    await without.untilHappened('event.unhandled', 'evt_1')
    expect(await other.getEvent('evt_1')).toMatchObject({ state: 'unhandled' })

    const having = await start({ steps: { sink: sink.url, types: 'thing.*' } })
    await having.untilHappened('event.done', 'evt_1')

    expect(await database.listWrongEffects(['evt_1:a'])).toEqual([])
    expect((await other.getEvent('evt_1')).outcome).toMatchObject({ attempts: 1 })
  })

  test('C14: an event that takes its worker down in its last attempt is dead: crashed', async () => {
    const { other, start, takeOver } = await openScene(engine)
    const victim = await start()
    await accept(other, forSteps({ key: 'evt_1', steps: [['kill']] }))
    await victim.gone

    // Were it run once more, it would take the test down.
    await takeOver({ retry: { attemptsMax: 1 } })
    await other.untilHappened('event.dead', 'evt_1')

    expect(await other.getEvent('evt_1')).toMatchObject({
      state: 'dead',
      reason: 'crashed',
      outcome: { attempts: 1 },
    })
  })

  test('C22: 1,000 handlers that block for longer than a lease end all the same, and no step happens twice', async () => {
    const { database, other, start, sink } = await openScene(engine)
    // Each of the attempts outlasts its lease, so that it is their number that ends it: a third worker, which runs
    // nothing and is never blocked, sees a heart stand still for `deadAfterMs`, in looks of which the first counts
    // for nothing. Looks that a busy machine holds up count for no more, so there is time for more than twice as many.
    const blockMs = 3 * HASTY.deadAfterMs
    const worker = { ...HASTY, stepsMax: 250, crashesMax: 5, blockedMs: 0 }
    const options = { retry: { ...SOON.retry, attemptsMax: 2 } }
    const keys = Array.from({ length: 1_000 }, (_, i) => `evt_${i}`)
    const script = [
      ['tx', 'a'],
      ['busy together', blockMs],
      ['tx', 'b'],
    ] as const
    await Promise.all(keys.map((key) => accept(other, forSteps({ key, steps: script }))))
    const steps = { sink: sink.url, options }
    await other.inbox.start()
    const both = [await start({ worker, steps }), await start({ worker, steps })]
    await until('all have ended', async () => (await database.count('queue')) === 0, {
      limitMs: 280_000,
      everyMs: 200,
    })

    const done = await database.count('outcomes', `state = 'done'`)
    const dead = await database.count('outcomes', `state = 'dead' and reason = 'crashed'`)
    expect(done + dead).toBe(keys.length)
    // The lease in which an event would be found to have had its last attempt can be lost as well.
    expect(await database.count('outcomes', 'attempts > 5')).toBe(0)
    const doubled = await database.query(
      'select event_key from effects group by event_key having count(*) > 1',
    )
    expect(doubled).toEqual([])
    const ended = await database.query(`select event_key from effects where event_key like '%:b'`)
    expect(ended.length).toBeGreaterThanOrEqual(done)
    const count = (name: string) => both.reduce((sum, each) => sum + each.countHappened(name), 0)
    expect(count('worker.late')).toBeGreaterThan(0)
    expect(count('event.crashed') + other.count('event.crashed')).toBeGreaterThan(0)
  }, 300_000)

  test('H21: what a step handler writes on a connection of its own happens twice when it is killed before its end, as documented', async () => {
    const { database, other, start } = await openScene(engine)
    const steps = [
      ['tx', 'a'],
      ['outside', 'own connection'],
      ['reach', 'written'],
    ] as const
    const victim = await start()
    await accept(other, forSteps({ key: 'evt_1', steps }))
    await victim.untilReached('written evt_1')
    await victim.kill()

    const survivor = await start({ worker: HASTY })
    await survivor.untilReached('written evt_1')
    survivor.goOn('written evt_1')
    await survivor.untilHappened('event.done', 'evt_1')

    expect(await database.countEffects('evt_1')).toBe(2)
    expect(await database.countEffects('evt_1:a')).toBe(1)
  })
})

describe('leases on PostgreSQL', () => {
  test('C09: a lease counts from when it was given, not from when it was asked for', async () => {
    const database = await createFaultDatabase('postgres')
    if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
    const pool = new pg.Pool({ ...database.store.connection, max: 5 })
    const store = postgresStore({ pool })
    await store.open()
    const locker = new pg.Client(database.store.connection)
    await locker.connect()
    onTestFinished(async () => {
      await locker.end()
      await store.close()
      await pool.end()
    })
    await store.events.record([anEventDraft()], { deadlineMs: 30_000 })
    await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
    await database.query('update hookonce.queue set leasable = true')
    await locker.query('begin; lock table hookonce.queue in access exclusive mode')

    const leasing = store.steps.lease({
      ...{ ...aLeaseRequest(1), leaseMs: 60_000 },
    })
    await until('the claim waits', async () => {
      const waiting = await database.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%lease_due%'`,
      )
      return waiting.length > 0
    })
    const [released] = await database.query('select clock_timestamp() as at')
    await locker.query('commit')

    expect(await leasing).toHaveLength(1)
    const [row] = await database.query(
      `select lease_until >= $1::timestamptz + interval '1 minute' as is_later from hookonce.queue`,
      [released?.['at']],
    )
    expect(row).toEqual({ is_later: true })
  })

  test('H18: a step frozen in its transaction is ended by the database, and its event is taken', async () => {
    const { database, other, start, takeOver, sink } = await openScene('postgres')
    const options = { ...SOON, txTimeoutMs: 2_000 }
    const frozen = await start({ steps: { sink: sink.url, options } })
    await accept(other, forSteps({ key: 'evt_1', steps: [['open tx', 'a']] }))
    await frozen.untilReached('a evt_1')
    frozen.signal('SIGSTOP')

    await takeOver()
    await other.untilHappened('event.done', 'evt_1')
    frozen.signal('SIGCONT')
    frozen.goOn('a evt_1')
    await frozen.untilHappened('lease.lost', 'evt_1')

    const { outcome } = await other.getEvent('evt_1')
    expect(await database.query('select event_key, note from effects')).toEqual([
      { event_key: 'evt_1:a', note: String(outcome?.attempts) },
    ])
  })

  // On SQLite a handler that is in a transaction has the file's one write lock: another connection gets nowhere.
  test('H21: what a handler writes on a connection of its own happens twice when it is killed before its end, as documented', async () => {
    const { database, other } = await openScene('postgres')
    const handler = { retry: { firstMs: 1 } }
    const victim = await startSubject('worker', {
      store: database.store,
      worker: PATIENT,
      handler,
    })
    await accept(
      other,
      fromPartner({
        key: 'evt_1',
        steps: [
          ['outside', 'own pool'],
          ['reach', 'written'],
        ],
      }),
    )
    await victim.untilReached('written evt_1')
    await victim.kill()

    const survivor = await startSubject('worker', { store: database.store, worker: HASTY, handler })
    await survivor.untilReached('written evt_1')
    survivor.goOn('written evt_1')
    await survivor.untilHappened('event.done', 'evt_1')

    expect(await database.countEffects('evt_1')).toBe(2)
  })
})

/** A file that a child waits for, since it can hear nothing else. */
function createSignal(): { readonly path: string; give(): void } {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-signal-'))
  const path = join(dir, 'go')
  onTestFinished(() => {
    writeFileSync(path, '')
    rmSync(dir, { recursive: true, force: true })
  })
  return { path, give: () => writeFileSync(path, '') }
}
