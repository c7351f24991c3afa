/**
 * The database is away for longer than a worker may be silent, and all workers live. The first to come
 * back finds all hearts but its own standing still.
 */

import { describe, expect, onTestFinished, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from '../support/builders.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox, Happening } from '../support/faults/fault-inbox.ts'
import { forSteps, fromPartner } from '../support/faults/fault-sources.ts'
import { WRITE_EFFECT } from '../support/faults/scripted-handler.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import type { Subject } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'
import { slowTest } from '../support/slow-tests.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { leaseOne } from '../support/lease-steps.ts'
import { openStoreOn } from '../support/postgres/open-postgres.ts'
import { recordOne } from '../support/store-steps.ts'
import type { QueryTx } from '../support/store-under-test.ts'

/** Looked at every two seconds; after one or two looks there are six seconds left to come back in. */
const WORKER = { concurrency: 2, reserved: 0, deadAfterMs: 10_000 }
const LIMIT = { limitMs: 90_000 }
const LOOK = 'extract(epoch from max(beat_at))'

describe('PostgreSQL away for longer than deadAfterMs', () => {
  slowTest.each(['cutOff', 'freeze'] as const)(
    'C24: after %s no living worker has crashed, and what it holds it goes on with',
    async (outage) => {
      const database = await createFaultDatabase('postgres')
      const gate = createGate()
      const first = await startBehindProxy(database, gate)
      const second = await startBehindProxy(database, gate)
      const keys = Array.from({ length: 8 }, (_, i) => `evt_${i}`)
      const receiver = createFaultInbox(database)
      for (const key of keys) await accept(receiver, forSteps({ key }))
      await until('all are in the hands of a worker', () => gate.waiting === keys.length, LIMIT)

      first.proxy[outage]()
      second.proxy[outage]()
      await untilHeartsAreOld(database, WORKER.deadAfterMs)
      first.proxy.restore()
      await untilLooked(first, 2)
      second.proxy.restore()
      await untilBeaten(database, 2)
      gate.open()
      for (const key of keys) await untilDone([first, second], key)

      expect(first.count('event.crashed') + second.count('event.crashed')).toBe(0)
      expect(gate.waiting).toBe(keys.length)
      expect(await database.listWrongEffects(keys)).toEqual([])
    },
    180_000,
  )

  test.each([
    ['steps', 120_000, ['lease.lost']],
    ['groups', 5_000, ['event.failed', 'group.given-back']],
  ] as const)(
    'C19: a worker of %s that is cut off alone loses its event, and what it writes and sends when it is back is refused',
    async (kind, timeoutMs, lost) => {
      const database = await createFaultDatabase('postgres')
      const brief = { ...WORKER, deadAfterMs: 1_000 }
      const gate = createGate()
      const cutOff = await startBehindProxy(database, gate, kind, brief, timeoutMs)
      const receiver = createFaultInbox(database)
      await accept(receiver, forSteps({ key: 'evt_1' }))
      await until('it has the event', () => gate.waiting === 1, LIMIT)
      const open = createGate()
      open.open()
      const living = await startBehindProxy(database, open, kind, brief, timeoutMs)

      cutOff.proxy.freeze()
      await untilDone([living], 'evt_1')
      expect(await database.countEffects('evt_1')).toBe(1)
      cutOff.proxy.restore()
      gate.open()
      await until('it knows', () => lost.some((name) => cutOff.count(name) > 0), LIMIT)

      expect(await database.listWrongEffects(['evt_1'])).toEqual([])
      expect(cutOff.count('event.done')).toBe(0)
      // It is a worker as before.
      await accept(receiver, forSteps({ key: 'evt_2' }))
      await untilDone([cutOff, living], 'evt_2')
      expect(await database.listWrongEffects(['evt_1', 'evt_2'])).toEqual([])
      expect(await database.count('message_queue')).toBe(2)
    },
    180_000,
  )

  slowTest(
    'C24: groups that an outage has ended run again, and no crash is counted',
    async () => {
      const database = await createFaultDatabase('postgres')
      const gate = createGate()
      const workers = [
        await startBehindProxy(database, gate, 'groups'),
        await startBehindProxy(database, gate, 'groups'),
      ]
      const receiver = createFaultInbox(database)
      const keys = ['evt_0', 'evt_1', 'evt_2', 'evt_3']
      for (const key of keys) {
        await accept(receiver, fromPartner({ key }))
        await until(`${key} runs`, () => gate.waiting > keys.indexOf(key), LIMIT)
      }

      for (const { proxy } of workers) proxy.cutOff()
      await untilHeartsAreOld(database, WORKER.deadAfterMs)
      workers[0]!.proxy.restore()
      await untilLooked(workers[0]!, 2)
      workers[1]!.proxy.restore()
      gate.open()
      for (const key of keys) await untilDone(workers, key)

      expect(workers.map(({ count }) => count('event.crashed'))).toEqual([0, 0])
      expect(await database.listWrongEffects(keys)).toEqual([])
    },
    180_000,
  )

  slowTest(
    'C24: what was seen before an outage counts for nothing after it',
    async () => {
      const database = await createFaultDatabase('postgres')
      if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
      const other = (await openStoreOn(database.store.connection)) as unknown as Store<QueryTx>
      await recordOne(other, anEventDraft())
      await leaseOne(other, 'silent')
      const watcher = await startBehindProxy(database, createGate(), 'steps', {
        ...WORKER,
        deadAfterMs: 5_000,
      })
      // It stands still for most of the time after which it is dead.
      await untilLooked(watcher, 4)

      watcher.proxy.cutOff()
      await until('a look fails', () => watcher.happened.some(isFailedLook), LIMIT)
      watcher.proxy.restore()
      await untilLooked(watcher, 3)
      expect(watcher.count('event.crashed')).toBe(0)

      await watcher.untilHappened('event.crashed')
    },
    180_000,
  )

  test('C24: a worker that died in the outage is found when it is over', async () => {
    const database = await createFaultDatabase('postgres')
    if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
    const gate = createGate()
    const brief = { ...WORKER, deadAfterMs: 1_000 }
    const dying = await startSubject('worker', {
      store: database.store,
      worker: { ...brief, deadAfterMs: 60_000 },
      steps: { sink: 'http://127.0.0.1:9' },
    })
    const receiver = createFaultInbox(database)
    await accept(receiver, forSteps({ key: 'evt_1', first: [['reach', 'inside']] }))
    await dying.untilReached('inside evt_1')
    const living = await startBehindProxy(database, gate, 'steps', brief)

    living.proxy.cutOff()
    await dying.kill()
    await untilHeartsAreOld(database, brief.deadAfterMs)
    living.proxy.restore()
    gate.open()
    await living.untilHappened('event.crashed')

    await untilDone([living], 'evt_1')
    expect(living.count('event.crashed')).toBe(1)
  }, 180_000)
})

/** Longer than a busy machine lets a process wait that lives, and short enough to wait for. */
const LOCKED_MS = 6_000

describe('a SQLite file that is locked for longer than deadAfterMs', () => {
  test('C24: no living worker has crashed, and what it holds it goes on with', async () => {
    const database = await createFaultDatabase('sqlite')
    const start = () =>
      startSubject('worker', {
        store: database.store,
        worker: { concurrency: 1, deadAfterMs: LOCKED_MS, stepsMax: 4 },
        steps: { sink: 'http://127.0.0.1:9' },
      })
    const workers: readonly Subject[] = [await start(), await start()]
    const receiver = createFaultInbox(database)
    const keys = ['evt_0', 'evt_1', 'evt_2', 'evt_3']
    for (const key of keys) {
      const steps = [
        ['reach', 'inside'],
        ['tx', 'a'],
      ] as const
      await accept(receiver, forSteps({ key, steps }))
      await Promise.race(workers.map((worker) => worker.untilReached(`inside ${key}`)))
    }

    await database.query('begin immediate')
    await untilHeartsAreOld(database, LOCKED_MS)
    await database.query('commit')
    await untilBeaten(database, 2)
    for (const key of keys) {
      for (const worker of workers) worker.goOn(`inside ${key}`)
      await Promise.race(workers.map((worker) => worker.untilHappened('event.done', key)))
    }

    expect(workers.map((worker) => worker.countHappened('event.crashed'))).toEqual([0, 0])
    expect(await database.listWrongEffects(keys.map((key) => `${key}:a`))).toEqual([])
  }, 180_000)

  test.each([
    ['before their first statement', [['reach', 'inside'] as const, ['write', 'a'] as const]],
    ['when they have written', [['write', 'a'] as const, ['reach', 'inside'] as const]],
  ])(
    'C24: nor one whose handlers wait in groups, %s',
    async (_, steps) => {
      const database = await createFaultDatabase('sqlite')
      const start = () =>
        startSubject('worker', {
          store: database.store,
          worker: { concurrency: 1, deadAfterMs: LOCKED_MS },
          handler: { timeoutMs: 120_000 },
        })
      const workers: readonly Subject[] = [await start(), await start()]
      const receiver = createFaultInbox(database)
      await accept(receiver, fromPartner({ key: 'evt_0', steps }))
      await Promise.race(workers.map((worker) => worker.untilReached('inside evt_0')))

      // Where the handler holds the lock itself, that is the outage of the other worker.
      const holds = await tryHold(database)
      await untilHeartsAreOld(database, LOCKED_MS)
      if (holds) await database.query('commit')
      for (const worker of workers) worker.goOn('inside evt_0')
      await Promise.race(workers.map((worker) => worker.untilHappened('event.done', 'evt_0')))
      await untilBeaten(database, 2)

      expect(workers.map((worker) => worker.countHappened('event.crashed'))).toEqual([0, 0])
      expect(await database.listWrongEffects(['evt_0'])).toEqual([])
      expect(await database.count('outcomes', 'attempts = 1')).toBe(1)
    },
    180_000,
  )
})

async function tryHold(database: FaultDatabase): Promise<boolean> {
  try {
    await database.query('begin immediate')
    return true
  } catch {
    return false
  }
}

interface Gate {
  /** How many were ever at it. */
  readonly waiting: number
  pass(): Promise<void>
  open(): void
}

function createGate(): Gate {
  let waiting = 0
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return {
    get waiting() {
      return waiting
    },
    pass: () => {
      waiting += 1
      return opened
    },
    open,
  }
}

interface BehindProxy extends FaultInbox {
  readonly proxy: WireProxy
}

/** A worker whose handlers wait at the gate, and then write their effect. */
async function startBehindProxy(
  database: FaultDatabase,
  gate: Gate,
  kind: 'steps' | 'groups' = 'steps',
  worker: object = WORKER,
  timeoutMs = 120_000,
): Promise<BehindProxy> {
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  // No relay is here: what is written is there to be counted.
  const made = createFaultInbox(database, {
    connection: proxy.config,
    worker,
    destinations: [destination('mail', () => undefined)],
  })
  onTestFinished(() => proxy.close())
  const soon = { retry: { firstMs: 1, factor: 1 }, timeoutMs }
  if (kind === 'steps') {
    made.inbox.steps('partner', '*', soon, async (event, step) => {
      await gate.pass()
      await step.tx('write', async (tx, { send }) => {
        await tx.query(WRITE_EFFECT, [event.key, 'ran'])
        await send('mail', { to: event.key })
      })
    })
  } else {
    made.inbox.on('partner', '*', { ...soon, groupMax: 1 }, async (event, { tx, send }) => {
      await gate.pass()
      await tx.query(WRITE_EFFECT, [event.key, 'ran'])
      await send('mail', { to: event.key })
    })
  }
  await made.inbox.start()
  return { ...made, proxy }
}

/** Until no worker has beaten for so long, and half as long again, by the clock of the database. */
async function untilHeartsAreOld(database: FaultDatabase, ms: number): Promise<void> {
  const isOld =
    database.engine === 'postgres'
      ? `beat_at < clock_timestamp() - ${1.5 * ms} * interval '1 millisecond'`
      : `beat_at < unixepoch('subsec') * 1000 - ${1.5 * ms}`
  await until(
    'all hearts are old',
    async () => (await database.count('workers')) === (await database.count('workers', isOld)),
    LIMIT,
  )
}

async function untilBeaten(database: FaultDatabase, workers: number): Promise<void> {
  const isYoung =
    database.engine === 'postgres'
      ? `beat_at > clock_timestamp() - interval '1.5 seconds'`
      : `beat_at > unixepoch('subsec') * 1000 - 1500`
  const prefix = database.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  await until(
    'all have beaten again',
    async () => {
      const [row] = await database.query(
        `select count(distinct worker_id) as found from ${prefix}workers where ${isYoung}`,
      )
      return Number(row?.['found']) === workers
    },
    LIMIT,
  )
}

function isFailedLook({ name, about }: Happening): boolean {
  return name === 'worker.error' && 'doing' in about && about.doing === 'look for dead workers'
}

/** Until it has had so many answers from now on. */
async function untilLooked({ statements }: FaultInbox, times: number): Promise<void> {
  const count = () => statements.filter((text) => text.includes(LOOK)).length
  const before = count()
  // A look that is asked has not been answered yet.
  await until('it has looked', () => count() > before + times, LIMIT)
}

async function untilDone(workers: readonly FaultInbox[], key: string): Promise<void> {
  await until(
    `${key} is done`,
    () =>
      workers.some(({ happened }) =>
        happened.some(
          ({ name, about }) => name === 'event.done' && 'key' in about && about.key === key,
        ),
      ),
    LIMIT,
  )
}
