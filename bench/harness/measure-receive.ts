import type { Pool } from 'pg'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { CONNECTIONS, generateLoad } from '../load/generate.ts'
import { writeSignedRequests } from '../load/signed-requests.ts'
import type { SignedRequests } from '../load/signed-requests.ts'
import { Subject } from './child.ts'
import type { BenchContext } from './context.ts'
import type { Contestant, Measurement, Setting } from './measurement.ts'

export type ReceiveScript =
  'receive-null' | 'receive-insert' | 'receive-textbook' | 'receive-hookonce'

/** More than any server here answers in a second, so that no request is sent twice. */
const RATE_MAX = 45_000

export class ReceiveBench {
  readonly #context: BenchContext
  readonly #warmSeconds: number
  readonly #seconds: number
  #requests: SignedRequests | undefined

  constructor(context: BenchContext) {
    this.#context = context
    this.#warmSeconds = context.options.quick ? 1 : 2
    this.#seconds = context.options.quick ? 2 : 6
  }

  contestant(
    name: string,
    script: ReceiveScript,
    settings: readonly Setting[],
    isSqlite = false,
  ): Contestant {
    return {
      name,
      runtime: 'ours',
      isOurs: script === 'receive-hookonce',
      settings,
      measure: (setting) =>
        isSqlite ? this.#measureSqlite(script, setting) : this.#measurePostgres(script, setting),
    }
  }

  async #measurePostgres(script: ReceiveScript, setting: Setting): Promise<Measurement> {
    return this.#context.withDatabase(async (postgres, pool) => {
      const subject = new Subject(script, { ...setting, postgres }, 'ours')
      const settle = () => this.#context.settle(pool)
      return this.#measure(subject, settle, () => countStored(script, pool))
    })
  }

  async #measureSqlite(script: ReceiveScript, setting: Setting): Promise<Measurement> {
    const sqlite = this.#context.createFile('receive.db')
    const subject = new Subject(script, { ...setting, sqlite }, 'ours')
    return this.#measure(
      subject,
      async () => {},
      async () => {
        const store = sqliteStore(sqlite)
        await store.open()
        const stored = await store.operators.countEvents()
        await store.close()
        return stored
      },
    )
  }

  async #measure(
    subject: Subject,
    settle: () => Promise<void>,
    count: () => Promise<number | undefined>,
  ): Promise<Measurement> {
    const requests = this.#writeRequests()
    try {
      const { port } = await subject.next('listening')
      const warm = await generateLoad({ port, requests, from: 0, seconds: this.#warmSeconds })
      await settle()
      // Beyond what was on its way when the first run ended.
      const from = warm.requests + 2 * CONNECTIONS
      const load = await generateLoad({ port, requests, from, seconds: this.#seconds })
      await subject.stop()
      if (from + load.requests > requests.count)
        throw new Error('There were too few requests: some were sent twice')

      const answered = warm.requests - warm.refused + load.requests - load.refused
      const stored = await count()
      return {
        rate: load.requests / (load.durationUs / 1e6),
        lost: stored === undefined ? 0 : Math.max(0, answered - stored),
        // What was on its way at the end of either run may be stored and was not answered.
        doubled: stored === undefined ? 0 : Math.max(0, stored - answered - 2 * (CONNECTIONS + 1)),
        notes: {
          'p99 ms': Math.round(load.p99Us / 100) / 10,
          ...(load.refused + warm.refused > 0 && { refused: load.refused + warm.refused }),
          ...(load.socketErrors > 0 && { 'socket errors': load.socketErrors }),
        },
      }
    } finally {
      await subject.stop()
    }
  }

  #writeRequests(): SignedRequests {
    this.#requests ??= writeSignedRequests(
      this.#context.createFile('requests'),
      RATE_MAX * (this.#warmSeconds + this.#seconds),
    )
    return this.#requests
  }
}

async function countStored(script: ReceiveScript, pool: Pool): Promise<number | undefined> {
  if (script === 'receive-null') return undefined
  if (script === 'receive-hookonce') return postgresStore({ pool }).operators.countEvents()
  const { rows } = await pool.query<{ n: number }>('select count(*)::integer as n from inbox')
  return rows[0]!.n
}
