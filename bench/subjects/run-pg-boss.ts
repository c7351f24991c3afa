import { serveBare } from './bare-server.ts'
import { effectOf } from './drain-config.ts'
import type { RunConfig } from './receive-config.ts'
import { importPeer, runSubject } from './subject.ts'

type PgBossConfig = RunConfig & { readonly batchSize: number; readonly localConcurrency: number }

/** The members of pg-boss that are used here. */
interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void
  start(): Promise<unknown>
  stop(options: object): Promise<void>
  createQueue(name: string, options: object): Promise<void>
  send(name: string, data: object): Promise<string | null>
  work(
    name: string,
    options: object,
    handler: (jobs: readonly Job[], tx: Transaction) => Promise<void>,
  ): Promise<string>
}
interface Job {
  readonly data: { readonly id: string }
}
interface Transaction {
  executeSql(text: string, values: unknown[]): Promise<unknown>
}

const { PgBoss } = await importPeer<{ PgBoss: new (options: object) => PgBoss }>('pg-boss')

/** pg-boss behind a bare server: one `send` for each request, and a transactional worker in the same process. */
runSubject<PgBossConfig>(async ({ postgres, poolMax, batchSize, localConcurrency }) => {
  const boss = new PgBoss({
    ...postgres,
    max: poolMax,
    schedule: false,
    maintenanceIntervalSeconds: 30,
  })
  let errors = 0
  boss.on('error', () => (errors += 1))
  await boss.start()
  await boss.createQueue('events', { retryLimit: 10_000, retryDelay: 0, deleteAfterSeconds: 30 })
  let done = 0
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
      for (const { data } of jobs) {
        const { text, values } = effectOf('row', data.id)
        await tx.executeSql(text, values)
      }
      done += jobs.length
    },
  )
  await serveBare(
    async ({ body }) => {
      await boss.send('events', JSON.parse(body.toString('utf8')) as object)
    },
    () => ({ done, errors }),
  )
  await boss.stop({ graceful: false, close: true })
})
