import pg from 'pg'
import { signedDelivery } from '../load/signed-requests.ts'
import { effectOf } from './drain-config.ts'
import type { DrainConfig } from './drain-config.ts'
import { hear, importPeer, runSubject, say, startClock } from './subject.ts'
import { untilEffects } from './until-effects.ts'

type PgBossConfig = DrainConfig & { readonly batchSize: number; readonly localConcurrency: number }

/** The members of pg-boss that are used here. */
interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void
  start(): Promise<unknown>
  stop(options: object): Promise<void>
  createQueue(name: string, options: object): Promise<void>
  insert(name: string, jobs: readonly { data: object }[]): Promise<unknown>
  work(
    name: string,
    options: object,
    handler: (jobs: Job[], tx: Transaction) => Promise<void>,
  ): Promise<string>
}
interface Job {
  readonly data: { readonly id: string }
}
interface Transaction {
  executeSql(text: string, values: unknown[]): Promise<unknown>
}

const CHUNK = 1_000
const { PgBoss } = await importPeer<{ PgBoss: new (options: object) => PgBoss }>('pg-boss')

/** pg-boss: handler and completion in one transaction, in batches that succeed or fail as a whole. */
runSubject<PgBossConfig>(async (config) => {
  const { postgres, poolMax, events, shape, batchSize, localConcurrency } = config
  await fill(config)
  say({ kind: 'filled' })
  await hear('go')

  const boss = new PgBoss({ ...postgres, max: poolMax, supervise: false, schedule: false })
  let errors = 0
  boss.on('error', () => (errors += 1))
  await boss.start()
  let calls = 0
  let batches = 0
  const stopClock = startClock()
  await boss.work(
    'events',
    {
      transactional: true,
      batchSize,
      localConcurrency,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
    },
    async (jobs, tx) => {
      batches += 1
      for (const { data } of jobs) {
        const { text, values } = effectOf(shape, data.id)
        await tx.executeSql(text, values)
        calls += 1
      }
    },
  )
  const pool = new pg.Pool({ ...postgres, max: 1 })
  await untilEffects(pool, { shape, events, mayBeDone: () => calls >= events })
  say({
    kind: 'finished',
    ...stopClock(),
    notes: { 'batches run again': batches - Math.ceil(events / batchSize), errors },
  })
  await pool.end()
  await boss.stop({ graceful: false, close: true })
})

/** On connections of its own: what PostgreSQL counts for one is told when it ends. */
async function fill({ postgres, poolMax, events }: PgBossConfig): Promise<void> {
  const boss = new PgBoss({ ...postgres, max: poolMax, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  // A batch that meets a deadlock is tried again until it does not.
  await boss.createQueue('events', { retryLimit: 10_000, retryDelay: 0 })
  for (let from = 0; from < events; from += CHUNK) {
    const count = Math.min(CHUNK, events - from)
    await boss.insert(
      'events',
      Array.from({ length: count }, (_, index) => ({ data: payloadOf(from + index) })),
    )
  }
  await boss.stop({ graceful: false, close: true })
}

function payloadOf(index: number): object {
  return JSON.parse(signedDelivery(index).body.toString('utf8')) as object
}
