import pg from 'pg'
import { signedDelivery } from '../load/signed-requests.ts'
import { effectOf } from './drain-config.ts'
import type { DrainConfig } from './drain-config.ts'
import { hear, importPeer, runSubject, say, startClock } from './subject.ts'

type GraphileConfig = DrainConfig & {
  readonly concurrency: number
  readonly localQueueSize: number
  readonly completeDelayMs: number
}

/** The members of graphile-worker that are used here. */
interface Graphile {
  run(options: object): Promise<{ stop(): Promise<void> }>
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>
    addJobs(jobs: readonly { identifier: string; payload: object }[]): Promise<unknown>
    release(): Promise<void>
  }>
  Logger: new (factory: () => () => void) => object
}
interface Helpers {
  query(text: string, values: unknown[]): Promise<unknown>
}

const CHUNK = 1_000
const { run, makeWorkerUtils, Logger } = await importPeer<Graphile>('graphile-worker')

/** graphile-worker: jobs fetched and completed in batches, the effect in a transaction of its own. */
runSubject<GraphileConfig>(async (config) => {
  const { postgres, poolMax, events, shape, concurrency, localQueueSize, completeDelayMs } = config
  const logger = new Logger(() => () => {})
  await fill(config, logger)
  say({ kind: 'filled' })
  await hear('go')

  const pgPool = createPool(postgres, poolMax)
  let calls = 0
  const stopClock = startClock()
  const runner = await run({
    pgPool,
    logger,
    noHandleSignals: true,
    preset: {
      worker: {
        concurrentJobs: concurrency,
        ...(localQueueSize > 0 && { localQueue: { size: localQueueSize } }),
        completeJobBatchDelay: completeDelayMs,
      },
    },
    taskList: {
      effect: async ({ id }: { id: string }, { query }: Helpers) => {
        const { text, values } = effectOf(shape, id)
        await query(text, values)
        calls += 1
      },
    },
  })
  await untilQueueIsEmpty(pgPool, () => calls >= events)
  say({ kind: 'finished', ...stopClock(), notes: {} })
  await runner.stop()
  await pgPool.end()
})

/** On connections of its own: what PostgreSQL counts for one is told when it ends. */
async function fill({ postgres, poolMax, events }: GraphileConfig, logger: object): Promise<void> {
  const pgPool = createPool(postgres, poolMax)
  const utils = await makeWorkerUtils({ pgPool, logger })
  await utils.migrate()
  for (let from = 0; from < events; from += CHUNK) {
    const count = Math.min(CHUNK, events - from)
    await utils.addJobs(Array.from({ length: count }, (_, index) => jobOf(from + index)))
  }
  await utils.release()
  await pgPool.end()
}

function createPool(postgres: GraphileConfig['postgres'], max: number): pg.Pool {
  const pool = new pg.Pool({ ...postgres, max })
  // It asks for these, and warns on every start without them.
  return pool.on('error', () => {}).on('connect', (client) => void client.on('error', () => {}))
}

async function untilQueueIsEmpty(pool: pg.Pool, mayBeEmpty: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 180_000
  while (performance.now() < giveUpAt) {
    if (mayBeEmpty()) {
      const { rows } = await pool.query('select 1 from graphile_worker._private_jobs limit 1')
      if (rows.length === 0) return
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function jobOf(index: number): { identifier: string; payload: object } {
  return {
    identifier: 'effect',
    payload: JSON.parse(signedDelivery(index).body.toString('utf8')) as object,
  }
}
