import type { Pool } from 'pg'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { CONNECTIONS, generateLoad } from '../load/generate.ts'
import type { LoadReport } from '../load/generate.ts'
import { writeSignedRequests } from '../load/signed-requests.ts'
import type { SignedRequests } from '../load/signed-requests.ts'
import type { ReceiveConfig } from '../subjects/receive-config.ts'
import { Subject } from './child.ts'
import type { Runtime, Usage } from './child.ts'
import type { BenchContext } from './context.ts'
import { costsPerEvent } from './costs-per-event.ts'
import { countReceived } from './count-received.ts'
import { NO_DATABASE, PostgresWatch } from './database-watch.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { Contestant, Measurement, Setting } from './measurement.ts'

export type ReceiveScript =
  'receive-null' | 'receive-insert' | 'receive-textbook' | 'receive-hookonce'

export interface ReceiveEntry {
  readonly name: string
  readonly script: ReceiveScript
  readonly settings: readonly Setting[]
  readonly isSqlite?: boolean
  readonly runtime?: Runtime
  /** What is in its database before it starts. */
  readonly prepare?: (config: ReceiveConfig) => Promise<void>
  /** Where its compiled code is, if that is not what is in this tree. */
  readonly build?: string
}

/** More than any server here answers in a second, so that no request is sent twice unless it is meant to be. */
const RATE_MAX = 45_000

export class ReceiveBench {
  readonly #context: BenchContext
  readonly #newEvery: number
  readonly #warmSeconds: number
  readonly #seconds: number
  #requests: SignedRequests | undefined

  /** @param newEvery - of this many requests one is new, and the others are duplicates */
  constructor(context: BenchContext, newEvery = 1) {
    this.#context = context
    this.#newEvery = newEvery
    this.#warmSeconds = context.options.quick ? 1 : 2
    this.#seconds = context.options.quick ? 2 : 6
  }

  contestant(entry: ReceiveEntry): Contestant {
    const { name, script, settings, isSqlite = false, runtime = 'ours' } = entry
    return {
      name,
      runtime,
      isOurs: script === 'receive-hookonce',
      settings,
      measure: (setting) =>
        isSqlite ? this.#measureSqlite(entry, setting) : this.#measurePostgres(entry, setting),
    }
  }

  async #measurePostgres(entry: ReceiveEntry, setting: Setting): Promise<Measurement> {
    return this.#context.withDatabase(async (postgres, pool) => {
      await entry.prepare?.({ postgres, poolMax: 5 })
      return this.#measure({
        start: () => start(entry, { ...setting, postgres }),
        watch:
          entry.script === 'receive-null'
            ? NO_DATABASE
            : new PostgresWatch(this.#context.meter, postgres.database),
        settle: () => this.#context.settle(pool),
        count: () => countStored(entry.script, pool),
      })
    })
  }

  async #measureSqlite(entry: ReceiveEntry, setting: Setting): Promise<Measurement> {
    const sqlite = this.#context.createFile('receive.db')
    await entry.prepare?.({ sqlite, poolMax: 0 })
    return this.#measure({
      start: () => start(entry, { ...setting, sqlite }),
      watch: NO_DATABASE,
      settle: async () => {},
      count: async () => {
        const store = sqliteStore(sqlite)
        await store.open()
        const stored = await store.operators.countEvents()
        await store.close()
        return stored
      },
    })
  }

  async #measure({ start, watch, settle, count }: ReceiveRun): Promise<Measurement> {
    const requests = this.#writeRequests()
    const newEvery = this.#newEvery
    await watch.beforeConnections()
    const subject = start()
    try {
      const { port } = await subject.next('listening')
      const warm = await generateLoad({
        port,
        requests,
        from: 0,
        seconds: this.#warmSeconds,
        newEvery,
      })
      await settle()
      // Beyond what was on its way when the first run ended.
      const from = warm.requests + 2 * CONNECTIONS
      const before = await subject.usage()
      await watch.start()
      const load = await generateLoad({ port, requests, from, seconds: this.#seconds, newEvery })
      await watch.end()
      const after = await subject.usage()
      await subject.stop()
      if ((from + load.requests) / newEvery > requests.count)
        throw new Error('There were too few requests: some were sent twice')

      const answers = [
        { first: 0, ...warm },
        { first: from, ...load },
      ]
      const received = countReceived(answers, { newEvery, inFlightMax: CONNECTIONS + 1 })
      const stored = await count()
      const database = await watch.spent(warm.requests + load.requests)
      const ownCpuUs = after.cpuUs - before.cpuUs
      return {
        rate: load.requests / (load.durationUs / 1e6),
        lost: stored === undefined ? 0 : Math.max(0, received.atLeast - stored),
        doubled: stored === undefined ? 0 : Math.max(0, stored - received.atMost),
        notes: noteTrouble([warm, load]),
        figures: {
          ...costsPerEvent({ events: load.requests, ownCpuUs, database }),
          ...statementsPer100(before, after, load),
          'answer p99 ms': load.p99Us / 1_000,
        },
      }
    } finally {
      await subject.stop()
    }
  }

  #writeRequests(): SignedRequests {
    const most = RATE_MAX * (this.#warmSeconds + this.#seconds)
    this.#requests ??= writeSignedRequests(
      this.#context.createFile('requests'),
      Math.ceil(most / this.#newEvery),
    )
    return this.#requests
  }
}

interface ReceiveRun {
  readonly start: () => Subject
  readonly watch: DatabaseWatch
  readonly settle: () => Promise<void>
  /** How many events are stored; `undefined` where none are. */
  readonly count: () => Promise<number | undefined>
}

function start({ script, runtime = 'ours', build }: ReceiveEntry, config: object): Subject {
  return new Subject(script, config, runtime, build)
}

function statementsPer100(
  before: Usage,
  after: Usage,
  { requests }: LoadReport,
): Measurement['figures'] {
  const sent = (after.counts['statements'] ?? 0) - (before.counts['statements'] ?? 0)
  return sent === 0 ? {} : { 'statements/100 requests': (100 * sent) / requests }
}

export function noteTrouble(loads: readonly LoadReport[]): Measurement['notes'] {
  const refused = loads.reduce((sum, load) => sum + load.refused, 0)
  const socketErrors = loads.reduce((sum, load) => sum + load.socketErrors, 0)
  return {
    ...(refused > 0 && { refused }),
    ...(socketErrors > 0 && { 'socket errors': socketErrors }),
  }
}

async function countStored(script: ReceiveScript, pool: Pool): Promise<number | undefined> {
  if (script === 'receive-null') return undefined
  if (script === 'receive-hookonce') return postgresStore({ pool }).operators.countEvents()
  const { rows } = await pool.query<{ n: number }>('select count(*)::integer as n from inbox')
  return rows[0]!.n
}
