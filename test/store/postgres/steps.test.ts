import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { LeasedEvent } from '../../../src/store/contract/steps.ts'
import { anEventDraft } from '../../support/builders.ts'
import { createFaultDatabase } from '../../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../../support/faults/fault-inbox.ts'
import { forSteps } from '../../support/faults/fault-sources.ts'
import { until } from '../../support/faults/until.ts'
import { aLeaseRequest, leaseOne, makeLeasable } from '../../support/lease-steps.ts'
import {
  hasNoPostgres,
  newPool,
  openPostgres,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import type { OpenedPostgres } from '../../support/postgres/open-postgres.ts'
import type { QueryTx } from '../../support/store-under-test.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { done, NO_ORDER, recordOne } from '../../support/store-steps.ts'

const LIMITS = { idleTimeoutMs: 60_000, lockTimeoutMs: 0 }
const WRITE = 'insert into effects values ($1, $2)'

// The statements look up many events at once: a token must count for its own event, and only with it.
describe.skipIf(hasNoPostgres)('the token of a lease on PostgreSQL', () => {
  async function leaseTwo(): Promise<{ store: Store<QueryTx>; a: LeasedEvent; b: LeasedEvent }> {
    const opened = await openPostgres()
    const store = opened.store as unknown as Store<QueryTx>
    await store.events.record([anEventDraft({ key: 'a' })], { deadlineMs: 20_000 })
    const a = await leaseOne(store)
    await store.events.record([anEventDraft({ key: 'b' })], { deadlineMs: 20_000 })
    const b = await leaseOne(store)
    return { store, a, b }
  }

  test('opens no step of another event', async () => {
    const { store, a, b } = await leaseTwo()
    const place = { handler: 'h', kind: 'tx', position: 1, name: 'write' } as const

    const opened = await store.steps.open(
      [
        { ...place, lease: { ...a.lease, token: b.lease.token } },
        { ...place, lease: b.lease },
        { ...place, position: 2, lease: { ...b.lease, token: a.lease.token } },
        { ...place, position: 3, lease: a.lease },
      ],
      LIMITS,
    )

    assert(opened)
    expect(opened.held).toEqual([false, true, false, true])
    await opened.abandon()
  })

  test('keeps no call of another event', async () => {
    const { store, a, b } = await leaseTwo()
    const call = {
      handler: 'h',
      position: 1,
      name: 'c',
      change: 'started',
      result: undefined,
    } as const

    const written = await store.steps.writeCalls([
      { ...call, lease: { ...a.lease, token: b.lease.token } },
      { ...call, lease: b.lease },
      { ...call, position: 2, lease: a.lease },
    ])

    expect(written.map((each) => each !== undefined)).toEqual([false, true, true])
  })

  test('settles no other event', async () => {
    const { store, a, b } = await leaseTwo()

    const settled = await store.steps.settle([
      { lease: { ...a.lease, token: b.lease.token }, settlement: done(a) },
      { lease: b.lease, settlement: done(b) },
      { lease: { ...a.lease, token: a.lease.token }, settlement: { state: 'given-back' } },
    ])

    expect(settled).toEqual([false, true, true])
    expect(await store.operators.findEvent(a.eventId)).toMatchObject({ state: 'ready' })
  })
})

describe.skipIf(hasNoPostgres)('a lease on PostgreSQL', () => {
  const LEASE = { ...aLeaseRequest(9), aloneFrom: 1 }

  test('of an event that has to run alone is not taken beside one that was taken meanwhile', async () => {
    const { config, store, query } = await openPostgres()
    for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
    await makeLeasable(store)
    await query('update hookonce.queue set crashes = 1')
    // Stands between the look for a suspect and the lock, for as long as the test holds the gate.
    await query('create schema slow')
    await query(`
      create function slow.pg_try_advisory_xact_lock(number bigint) returns boolean language plpgsql as $$
      begin
        perform pg_advisory_xact_lock(4711);
        return pg_catalog.pg_try_advisory_xact_lock(number);
      end $$`)
    const options = '-c search_path=slow,pg_catalog'
    const slow = await openStoreOn({ ...config, options })
    const gate = await newPool(config).connect()
    await gate.query('select pg_advisory_lock(4711)')

    const late = slow.steps.lease(LEASE)
    await untilWaiting(query)
    const first = await store.steps.lease(LEASE)
    await gate.query('select pg_advisory_unlock(4711)')

    expect(first.map(({ key }) => key)).toEqual(['b'])
    expect(await late).toEqual([])
    gate.release()
  })

  test('that is being taken keeps an operator from deciding about its calls', async () => {
    const { config, store, query } = await openPostgres()
    await recordOne(store, anEventDraft())
    const { lease } = await leaseOne(store)
    const { eventId } = lease
    const place = { lease, handler: 'h', position: 1, name: 'charge', result: undefined }
    await store.steps.writeCalls([{ ...place, change: 'started' }])
    await store.steps.settle([{ lease, settlement: { state: 'given-back' } }])
    const worker = await newPool(config).connect()
    await worker.query('begin')
    const { workerId, topics, leaseMs, aloneFrom } = LEASE
    await worker.query('select * from hookonce.lease_due($1, $2, $3, $4, $5, 0, 1000)', [
      workerId,
      topics.map(({ topic }) => topic),
      topics.map(({ limit }) => limit),
      leaseMs,
      aloneFrom,
    ])

    const deciding = store.steps.resolve(
      {
        ...{ eventId, handler: undefined, name: 'charge' },
        decision: { happened: true, result: '1' },
      },
      NO_ORDER,
    )
    await untilWaiting(query)
    await worker.query('commit')

    expect(await deciding).toEqual({ status: 'refused', code: 'EVENT_RUNNING' })
    expect(await store.steps.list(eventId)).toMatchObject([{ state: 'started' }])
    worker.release()
  })

  /** Until a statement of a store waits for a lock. */
  async function untilWaiting(query: OpenedPostgres['query']): Promise<void> {
    await until('it waits', async () => {
      const rows = await query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length > 0
    })
  }
})

describe.skipIf(hasNoPostgres)('steps that share a transaction on PostgreSQL', () => {
  const KEYS = Array.from({ length: 30 }, (_, i) => `evt_${i}`)
  const CULPRIT = 'evt_13'
  const OTHERS = KEYS.filter((key) => key !== CULPRIT)

  /**
   * Two steps take both places of those that write, and wait there. Behind them wait others, then the culprit, then
   * more: they share the next transaction, however busy the machine is.
   */
  async function runAll(
    step: (tx: QueryTx, key: string, clientOf: FaultInbox['clientOf']) => Promise<void>,
    { before = 1 }: { readonly before?: number } = {},
  ) {
    const database = await createFaultDatabase('postgres')
    const worker = createFaultInbox(database, {
      worker: { concurrency: 2, reserved: 0, stepsMax: 64 },
    })
    for (const key of KEYS) await accept(worker, forSteps({ key }))
    const turn = new Turns(before)
    const options = {
      ...{ retry: { attemptsMax: 2, firstMs: 1 } },
      ...{ timeoutMs: 600_000, txTimeoutMs: 600_000 },
    }
    worker.inbox.steps('partner', '*', options, async ({ key }, context) => {
      await turn.of(key)
      const written = context.tx('write', async (tx) => {
        await turn.inPlace(key)
        await tx.query(WRITE, [key, 'kept'])
        await step(tx, key, worker.clientOf)
      })
      turn.waits(key)
      await written
    })
    await worker.inbox.start()
    await until(
      'all have ended',
      () => worker.count('event.done') + worker.count('event.dead') === 30,
    )
    return { database, worker }
  }

  /** In which order the events begin their steps. */
  class Turns {
    readonly #before: number
    readonly #begun = new Set<string>()
    readonly #gathered = createGate()
    readonly #places: string[] = []
    readonly #taken = [createGate(), createGate()] as const
    readonly #waiting = new Set<string>()
    readonly #mayCulprit = createGate()
    readonly #mayOthers = createGate()
    readonly #share = createGate()

    constructor(before: number) {
      this.#before = before
    }

    /** Until the event may begin its step. */
    async of(key: string): Promise<void> {
      const [one, other] = this.#taken
      // With both places taken the worker leases no more.
      this.#begun.add(key)
      if (this.#begun.has(CULPRIT) && this.#begun.size >= 6) this.#gathered.open()
      await this.#gathered.isOpen
      if (key === CULPRIT) {
        await other.isOpen
        if (this.#before > 0) await this.#mayCulprit.isOpen
      } else if (this.#places.length < 2) {
        if (this.#places.push(key) === 2) await one.isOpen
      } else {
        await other.isOpen
        if (this.#waiting.size >= this.#before) await this.#mayOthers.isOpen
      }
    }

    /** Its step has its transaction. */
    async inPlace(key: string): Promise<void> {
      const place = this.#places.indexOf(key)
      this.#taken[place]?.open()
      if (place >= 0) await this.#share.isOpen
    }

    /** Its step waits for a transaction. */
    waits(key: string): void {
      if (this.#places.includes(key)) return
      this.#waiting.add(key)
      if (this.#waiting.size === this.#before) this.#mayCulprit.open()
      if (key === CULPRIT) this.#mayOthers.open()
      if (this.#waiting.size === this.#before + 3) this.#share.open()
    }
  }

  function createGate(): { readonly isOpen: Promise<void>; open(): void } {
    let open = (): void => undefined
    const isOpen = new Promise<void>((resolve) => (open = resolve))
    return { isOpen, open: () => open() }
  }

  test('are one by one when one of them throws, and each is kept once', async () => {
    let calls = 0
    // The culprit is the first of those that share: a step that is slow ends the sharing for those behind it.
    const { database, worker } = await runAll(
      async (_tx, key) => {
        if (key !== CULPRIT) return
        calls += 1
        throw new Error('no')
      },
      { before: 0 },
    )

    expect(worker.count('event.done')).toBe(29)
    expect(await database.listWrongEffects(OTHERS)).toEqual([])
    expect(await database.countEffects(CULPRIT)).toBe(0)
    // It did share one, or it would have been called once for each attempt.
    expect(calls).toBeGreaterThan(2)
  })

  test.each(['commit', 'rollback', 'rollback; begin', 'commit and chain'])(
    'H08: a step that ends it through the client itself (%s) harms only its own event',
    async (statement) => {
      const { database, worker } = await runAll(async (tx, key, clientOf) => {
        if (key !== CULPRIT) return
        const client = await clientOf(tx)
        await client.query(statement).catch(() => undefined)
      })

      expect(await database.listWrongEffects(OTHERS)).toEqual([])
      expect(await database.countEffects(CULPRIT)).toBe(0)
      expect(worker.count('event.dead')).toBe(1)
    },
  )

  test('a step that changes a setting runs alone, and its neighbours without the setting', async () => {
    const { database, worker } = await runAll(async (tx, key) => {
      if (key === CULPRIT) await tx.query(`set local statement_timeout = '7777ms'`)
      const { rows } = await tx.query('show statement_timeout')
      const isSet = rows[0]?.['statement_timeout'] === '7777ms'
      if (isSet !== (key === CULPRIT)) throw new Error('the setting of another event')
    })

    expect(worker.count('event.done')).toBe(30)
    expect(await database.listWrongEffects(KEYS)).toEqual([])
  })
})
