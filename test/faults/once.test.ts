/**
 * Work that runs once in a transaction of the user's, whose process is killed or whose connection is lost at COMMIT. The same
 * call comes again, as a broker or a client sends it, and its effect has happened once.
 */

import { fork } from 'node:child_process'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { fromPg } from '../../src/own-tx/from-pg.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { bundleProgram } from '../support/faults/bundle-program.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import type { DeathPoint } from '../support/faults/once-process.ts'
import { newPool } from '../support/postgres/open-postgres.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'

/** How a process ended, and what its call returned if it lived to say so. */
async function callIn(
  database: FaultDatabase,
  dies: DeathPoint,
): Promise<{ signal: unknown; status: unknown }> {
  const child = fork(bundleProgram('once-process'), [], { stdio: 'inherit' })
  let status: unknown
  child.on('message', (said: { status: string }) => (status = said.status))
  child.send({ config: database.store, dies })
  return new Promise((resolve) =>
    child.once('exit', (_code, signal) => resolve({ signal, status })),
  )
}

describe.each(ENGINES)('once on %s, in a process that is killed', (engine) => {
  test.each([
    ['in the work', 'first'],
    ['before COMMIT', 'first'],
    ['after COMMIT', 'duplicate'],
  ] as const)('%s has its effect and its message once: the next call is %s', async (dies, next) => {
    const database = await createFaultDatabase(engine)

    expect(await callIn(database, dies)).toMatchObject({ signal: 'SIGKILL' })
    expect(await callIn(database, 'never')).toEqual({ signal: null, status: next })

    expect(await database.countEffects()).toBe(1)
    expect([await database.count('events'), await database.count('message_queue')]).toEqual([1, 1])
  })
})

describe('once on postgres, whose connection is lost at COMMIT', () => {
  test.each([
    ['drop-before', 'first'],
    ['drop-after', 'duplicate'],
  ] as const)('%s: the same call in a new transaction is %s', async (fault, next) => {
    const database = await createFaultDatabase('postgres')
    if (database.store.engine !== 'postgres') throw new Error('This test is for PostgreSQL')
    const { connection } = database.store
    const proxy = await WireProxy.start(connection)
    onTestFinished(() => proxy.close())
    const store = postgresStore({ pool: newPool({ ...connection, max: 3 }) })
    const inbox = createInbox({ store, sources: {}, worker: false, relay: false })
    onTestFinished(() => inbox.stop())
    const call = async () => {
      const client = new pg.Client(proxy.config)
      client.on('error', () => undefined)
      await client.connect()
      try {
        await client.query('begin')
        const job = { source: 'jobs', key: 'job-1' }
        const result = await inbox.once(fromPg(client), job, async () => {
          await client.query("insert into effects (event_key) values ('job-1')")
          return { paid: true }
        })
        await client.query('commit')
        return result
      } finally {
        // One that was cut off answers nothing any more.
        void client.end().catch(() => undefined)
      }
    }

    const { fired } = proxy.arm({ matches: /^commit$/i, fault })
    await expect(call()).rejects.toThrow()
    await fired

    expect(await call()).toMatchObject({ status: next, result: { paid: true } })
    expect(await database.countEffects()).toBe(1)
  })
})
