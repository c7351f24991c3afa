import type pg from 'pg'
import { RedisServer } from '../../test/support/redis/start-redis.ts'
import { Subject } from './child.ts'
import type { BenchContext } from './context.ts'
import { costsPerEvent } from './costs-per-event.ts'
import { PostgresWatch, RedisWatch } from './database-watch.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { Contestant, Measurement, Setting } from './measurement.ts'
import { RedisMeter } from './redis-meter.ts'

export interface RelayTask {
  readonly messages: number
}

interface RelayEntry {
  readonly name: string
  readonly settings: readonly Setting[]
  readonly build?: string
  /** Whether a transaction elsewhere is open all the while. */
  readonly isSnapshotHeld?: boolean
}

export function relayContestant(
  context: BenchContext,
  task: RelayTask,
  { name, settings, build, isSnapshotHeld = false }: RelayEntry,
): Contestant {
  return {
    name,
    runtime: 'ours',
    isOurs: true,
    settings,
    measure: (setting) =>
      context.withDatabase(async (postgres, pool) => {
        const dropSnapshot = isSnapshotHeld ? await holdSnapshot(pool) : () => undefined
        const config = { ...setting, ...task, postgres }
        const watch = new PostgresWatch(context.meter, postgres.database)
        const settle = (): Promise<void> => context.settle(pool)
        try {
          return await measure({ script: 'relay-hookonce', config, build }, task, { settle, watch })
        } finally {
          dropSnapshot()
        }
      }),
  }
}

/** A transaction that keeps PostgreSQL from clearing away what is deleted from now on. */
async function holdSnapshot(pool: pg.Pool): Promise<() => void> {
  const client = await pool.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  return () => client.release(true)
}

export function bullmqContestant(
  task: RelayTask,
  { name, settings }: { name: string; settings: readonly Setting[] },
): Contestant {
  return {
    name,
    runtime: 'ours',
    isOurs: false,
    settings,
    measure: async (setting) => {
      const server = await new RedisServer().start()
      try {
        const meter = new RedisMeter(server.address)
        await keepLog(meter)
        const config = { ...setting, ...task, redis: server.address }
        return await measure({ script: 'relay-bullmq', config }, task, {
          settle: async () => {},
          watch: new RedisWatch(meter),
        })
      } finally {
        await server.dispose()
      }
    },
  }
}

/** What BullMQ's documentation asks for in production: a log, synced every second. */
async function keepLog(redis: RedisMeter): Promise<void> {
  const answer = await redis.say(['CONFIG SET appendonly yes', 'CONFIG SET appendfsync everysec'])
  if (answer !== '+OK\r\n'.repeat(3)) throw new Error(`Redis answered ${answer}`)
}

interface Run {
  readonly script: string
  readonly config: object
  readonly build?: string | undefined
}

async function measure(
  { script, config, build }: Run,
  { messages }: RelayTask,
  { settle, watch }: { settle: () => Promise<void>; watch: DatabaseWatch },
): Promise<Measurement> {
  const sink = new Subject('relay-sink', {}, 'ours')
  const { port } = await sink.next('listening')
  const url = `http://127.0.0.1:${port}/`
  const subject = new Subject(script, { ...config, url }, 'ours', build)
  try {
    await subject.next('filled')
    await settle()
    await watch.beforeConnections()
    await watch.start()
    subject.go()
    const { seconds, cpuUs, notes } = await subject.next('finished')
    await watch.end()
    await subject.stop()
    const { keys, requests } = (await (await fetch(url)).json()) as SinkCounts
    const database = await watch.spent(messages)
    return {
      rate: messages / seconds,
      notes,
      lost: messages - keys,
      doubled: requests - keys,
      figures: costsPerEvent({ events: messages, ownCpuUs: cpuUs, database }),
    }
  } finally {
    await subject.stop()
    await sink.stop()
  }
}

interface SinkCounts {
  readonly keys: number
  readonly requests: number
}
