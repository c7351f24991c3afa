import type { DatabaseSpent } from './costs-per-event.ts'
import type { PostgresMeter, PostgresReading } from './postgres-meter.ts'
import type { RedisMeter, RedisReading } from './redis-meter.ts'

/** Finds out what a database spends on one run. Called in this order. */
export interface DatabaseWatch {
  /** The subject has no connection yet. */
  beforeConnections(): Promise<void>
  start(): Promise<void>
  end(): Promise<void>
  /** The subject has ended, and took in so many events since it had connections. */
  spent(events: number): Promise<DatabaseSpent | undefined>
}

/** On SQLite the subject is the database. */
export const NO_DATABASE: DatabaseWatch = {
  beforeConnections: async () => {},
  start: async () => {},
  end: async () => {},
  spent: async () => undefined,
}

export class PostgresWatch implements DatabaseWatch {
  readonly #meter: PostgresMeter
  readonly #database: string
  #flushesBefore: number | undefined
  #from: PostgresReading | undefined
  #to: PostgresReading | undefined

  constructor(meter: PostgresMeter, database: string) {
    this.#meter = meter
    this.#database = database
  }

  async beforeConnections(): Promise<void> {
    this.#flushesBefore = await this.#meter.countFlushes(this.#database)
  }

  async start(): Promise<void> {
    this.#from = await this.#meter.read()
  }

  async end(): Promise<void> {
    this.#to = await this.#meter.read()
  }

  async spent(events: number): Promise<DatabaseSpent | undefined> {
    const [from, to] = [this.#from, this.#to]
    if (from === undefined || to === undefined) return undefined
    const flushes = await this.#meter.countFlushes(this.#database)
    return {
      cpuUs: difference(from.cpuUs, to.cpuUs),
      logBytes: to.logBytes - from.logBytes,
      commits: await this.#meter.countCommits(from, to),
      flushes: flushesOf(difference(this.#flushesBefore, flushes), events),
    }
  }
}

/** Redis counts no commits, and flushes its log once a second. */
export class RedisWatch implements DatabaseWatch {
  readonly #meter: RedisMeter
  #from: RedisReading | undefined
  #to: RedisReading | undefined

  constructor(meter: RedisMeter) {
    this.#meter = meter
  }

  async beforeConnections(): Promise<void> {}

  async start(): Promise<void> {
    this.#from = await this.#meter.read()
  }

  async end(): Promise<void> {
    this.#to = await this.#meter.read()
  }

  async spent(): Promise<DatabaseSpent | undefined> {
    const [from, to] = [this.#from, this.#to]
    if (from === undefined || to === undefined) return undefined
    const logBytes = to.logBytes - from.logBytes
    return {
      cpuUs: to.cpuUs - from.cpuUs,
      // It is written anew, and smaller, when it has doubled.
      logBytes: logBytes < 0 ? undefined : logBytes,
      commits: undefined,
      flushes: undefined,
    }
  }
}

function difference(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : to - from
}

function flushesOf(count: number | undefined, events: number): DatabaseSpent['flushes'] {
  return count === undefined ? undefined : { count, events }
}
