/**
 * H01: `kill -9` at every statement boundary there is: before a statement is sent, when it has been
 * sent and before its answer, and after its answer, one process for each.
 *
 * The boundaries are not listed anywhere: process n dies at its n-th one, and the enumeration ends
 * with the first process that lives to see its event through.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import type { ScriptedEvent } from '../support/faults/fault-sources.ts'
import { post } from '../support/faults/post.ts'
import { SubjectGoneError, SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'

const LIMIT_MS = 240_000
/** Statements that come by the clock and not with an event: a beat, a look for the dead. */
const OURS = '^(?!.*(beat_at|heart_at|epoch|pg_notify|deliveries|parked = .unhandled))'

describe.each(ENGINES)('kill -9 at every statement on %s', (engine) => {
  let receivers: SubjectPool
  let workers: SubjectPool
  beforeAll(() => {
    receivers = new SubjectPool('receiver', 2)
    workers = new SubjectPool('worker', 2)
  })
  afterAll(async () => {
    await receivers.close()
    await workers.close()
  })

  // On PostgreSQL a batch is one call that commits by itself, except where content is watched.
  test.each([
    ['partner', engine === 'postgres' ? 3 : 6],
    ['watched', engine === 'postgres' ? 9 : 6],
  ])(
    'H01: of storing an event of %s: what was not acknowledged is sent again, and there is one event',
    { timeout: LIMIT_MS },
    async (source, boundariesMin) => {
      const database = await createFaultDatabase(engine)
      const survivor = createFaultInbox(database)
      await accept(survivor, fromPartner({ key: 'evt_0' }))
      let at = 1
      for (; ; at += 1) {
        const delivery = fromPartner({ key: `evt_${at}` })
        const victim = await receivers.take().start({ store: database.store })
        await victim.arm({ matches: OURS, at, then: 'kill' })

        const answer = await post(victim.url, delivery, { source }).catch(() => undefined)

        if (answer !== undefined) {
          expect(answer.status).toBe(200)
          await victim.kill()
          break
        }
        expect((await victim.gone).signal).toBe('SIGKILL')
        expect((await survivor.inbox.receive(source, delivery)).status).toBe(200)
        expect(await survivor.inbox.admin.listEventsByKey(source, `evt_${at}`)).toHaveLength(1)
      }
      expect(at).toBeGreaterThan(boundariesMin)
      expect(await database.count('events')).toBe(at + 1)
      expect(await database.count('queue')).toBe(at + 1)
    },
  )

  test('H01: of running one event: it takes effect once', { timeout: LIMIT_MS }, async () => {
    const killed = await killWorkers(engine, workers, (at) => [{ key: `evt_${at}` }])
    expect(killed).toBeGreaterThan(engine === 'postgres' ? 20 : 10)
  })

  test(
    'H01: of running a group again because one of it failed: each takes effect once',
    { timeout: LIMIT_MS },
    async () => {
      const killed = await killWorkers(engine, workers, (at) => [
        { key: `evt_${at}_a` },
        {
          key: `evt_${at}_b`,
          steps: [['write', 'done']],
          first: [
            ['write', 'not kept'],
            ['throw', 'the first time'],
          ],
        },
        { key: `evt_${at}_c` },
      ])
      expect(killed).toBeGreaterThan(engine === 'postgres' ? 30 : 12)
    },
  )

  test(
    'H01: of a group that writes without waiting: each takes effect once',
    { timeout: LIMIT_MS },
    async () => {
      const steps = [['note', 'done']] as const
      const killed = await killWorkers(engine, workers, (at) =>
        ['a', 'b', 'c'].map((name) => ({ key: `evt_${at}_${name}`, steps })),
      )
      expect(killed).toBeGreaterThan(engine === 'postgres' ? 20 : 10)
    },
  )
})

/** Kills worker n at its n-th boundary until one gets through; then somebody else does what is left. */
async function killWorkers(
  engine: FaultDatabase['engine'],
  workers: SubjectPool,
  eventsOf: (at: number) => readonly ScriptedEvent[],
): Promise<number> {
  const database = await createFaultDatabase(engine)
  const survivor = createFaultInbox(database, {
    worker: { concurrency: 4, deadAfterMs: 500, crashesMax: 100 },
  })
  await survivor.inbox.admin.countEvents()
  const handler = { retry: { firstMs: 1, factor: 1 } }
  const keys: string[] = []
  let at = 1
  for (; ; at += 1) {
    const events = eventsOf(at)
    keys.push(...events.map(({ key }) => key))
    // It does not look for the dead: what they left is for the survivor, so that each victim has its own events.
    const worker = { concurrency: 1, deadAfterMs: 600_000, crashesMax: 100, pollMs: 20 }
    const victim = workers.take()
    await victim.start({ store: database.store, worker, handler })
    await victim.arm({ from: 'queue', matches: OURS, at, then: 'kill' })
    await Promise.all(events.map((event) => accept(survivor, fromPartner(event))))
    if (await survives(victim, events)) {
      await victim.kill()
      break
    }
  }
  survivor.inbox.on('partner', '*', handler, (event, { tx }) =>
    tx.query('insert into effects values ($1, $2)', [event.key, 'survivor']),
  )
  await survivor.inbox.start()
  await until('nothing is left to do', async () => (await database.count('queue')) === 0, {
    limitMs: 60_000,
  })

  expect(await database.listWrongEffects(keys)).toEqual([])
  expect(await database.count('events')).toBe(keys.length)
  expect(await database.count('outcomes', `state = 'done'`)).toBe(keys.length)
  return at - 1
}

async function survives(
  victim: { untilHappened(name: string, key: string): Promise<void> },
  events: readonly ScriptedEvent[],
): Promise<boolean> {
  try {
    await Promise.all(events.map(({ key }) => victim.untilHappened('event.done', key)))
    return true
  } catch (error) {
    if (error instanceof SubjectGoneError) return false
    throw error
  }
}
