/**
 * Processes that live for one call: what one of them accepted another one runs, and one that is killed is found dead by
 * the next, which has only moments to look.
 */

import { fork } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleProgram } from '../support/faults/bundle-program.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FetchOrder } from '../support/faults/fetch-process.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'

const LIMIT_MS = 300_000
const WORKER = { deadAfterMs: 500, crashesMax: 100 } as const
const KEYS = ['evt_1', 'evt_2', 'evt_3']

describe.each(ENGINES)('a call of runDue on %s', (engine) => {
  let invocations: SubjectPool
  beforeAll(() => {
    invocations = new SubjectPool('invocation', 2)
  })
  afterAll(() => invocations.close())

  test.each([
    ['before the first write of a handler', { matches: 'insert into effects', phase: 'before' }],
    ['before its COMMIT', { from: 'insert into effects', matches: 'commit', phase: 'before' }],
    ['after its COMMIT', { from: 'insert into effects', matches: 'commit', phase: 'after' }],
  ] as const)(
    'H01: that is killed %s: each event takes effect once, by a call after deadAfterMs',
    { timeout: LIMIT_MS },
    async (_, trap) => {
      const database = await createFaultDatabase(engine)
      const receiver = createFaultInbox(database)
      for (const key of KEYS) await accept(receiver, fromPartner({ key }))
      const config = { store: database.store, worker: WORKER }

      const victim = invocations.take()
      await victim.arm({ ...trap, at: 1, then: 'kill' })
      await victim.begin(config)
      expect(await victim.gone).toMatchObject({ signal: 'SIGKILL' })
      await untilSilent(database)
      const survivor = invocations.take()
      await survivor.start(config)
      await survivor.kill()

      expect(await database.listWrongEffects(KEYS)).toEqual([])
      expect(await database.count('queue')).toBe(0)
    },
  )
})

describe.each(ENGINES)('functions of a cloud on %s', (engine) => {
  let invocations: SubjectPool
  beforeAll(() => {
    invocations = new SubjectPool('invocation', 1)
  })
  afterAll(() => invocations.close())

  test.each([
    ['the next call', undefined],
    [
      'a call after one that was killed before its COMMIT',
      { from: 'insert into effects', matches: 'commit', phase: 'before' },
    ],
    [
      'a call after one that was killed after its COMMIT',
      { from: 'insert into effects', matches: 'commit', phase: 'after' },
    ],
  ] as const)(
    'H01: what was accepted by the Fetch handler of processes that were killed with their answer takes effect once, in %s',
    { timeout: LIMIT_MS },
    async (_, trap) => {
      const database = await createFaultDatabase(engine)
      const config = { store: database.store, worker: WORKER }

      for (const key of KEYS)
        expect(await acceptAndDie(database, key)).toEqual({
          signal: 'SIGKILL',
          answer: { status: 200, outcome: 'accepted' },
        })
      expect(await database.countEffects()).toBe(0)
      if (trap !== undefined) {
        const victim = invocations.take()
        await victim.arm({ ...trap, at: 1, then: 'kill' })
        await victim.begin(config)
        expect(await victim.gone).toMatchObject({ signal: 'SIGKILL' })
        await untilSilent(database)
      }
      const survivor = invocations.take()
      await survivor.start(config)
      await survivor.kill()

      expect(await database.listWrongEffects(KEYS)).toEqual([])
      expect(await database.count('queue')).toBe(0)
      // The sender had its answer. Should it send once more, that is a duplicate.
      expect(await acceptAndDie(database, 'evt_1')).toMatchObject({
        answer: { status: 200, outcome: 'duplicate' },
      })
      expect(await database.count('queue')).toBe(0)
    },
  )
})

/** One request to a process of its own, which is killed when it has answered. */
async function acceptAndDie(
  { store }: FaultDatabase,
  key: string,
): Promise<{ signal: unknown; answer: unknown }> {
  const { headers, body } = fromPartner({ key })
  const order: FetchOrder = {
    store,
    url: 'https://functions.example.com/in/partner',
    headers: headers as FetchOrder['headers'],
    body: Buffer.from(body).toString('base64'),
  }
  const child = fork(bundleProgram('fetch-process'), [], { stdio: 'inherit' })
  let answer: unknown
  child.on('message', (said) => (answer = said))
  child.send(order)
  return new Promise((resolve) =>
    child.once('exit', (_code, signal) => resolve({ signal, answer })),
  )
}

/** Before that a worker may live. On SQLite it is seen that its process is gone. */
async function untilSilent(database: FaultDatabase): Promise<void> {
  if (database.engine !== 'postgres') return
  const young = `select 1 from hookonce.workers where beat_at > clock_timestamp() - interval '500 milliseconds'`
  await until('its heart has stood still', async () => (await database.query(young)).length === 0)
}
