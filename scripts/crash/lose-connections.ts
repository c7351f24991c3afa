import { sleep } from './crash-run.ts'
import type { CrashRun, Fault } from './crash-run.ts'

const OTHERS = `from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
const ANY = 'order by random() limit 1'
const STORM_EVERY_MS = 50

/** Backends that PostgreSQL ends, or whose statement it cancels: one now and then, and all of them again and again. */
export function loseConnections({ postgres }: CrashRun): readonly Fault[] {
  if (postgres === undefined) return []
  return [
    {
      name: 'a terminated connection',
      weight: 5,
      inject: (run) => ask(run, `select pg_terminate_backend(pid) ${OTHERS} ${ANY}`),
    },
    {
      name: 'a cancelled statement',
      weight: 2,
      inject: (run) => ask(run, `select pg_cancel_backend(pid) ${OTHERS} ${ANY}`),
    },
    { name: 'all connections terminated every 50 ms for a while', weight: 1, inject: storm },
  ]
}

async function storm(run: CrashRun): Promise<undefined> {
  const rounds = run.random.between(20, 60)
  for (let i = 0; i < rounds; i += 1) {
    await ask(run, `select pg_terminate_backend(pid) ${OTHERS}`)
    await sleep(STORM_EVERY_MS)
  }
}

/** A server that is away has no backends to do it to. */
async function ask({ database }: CrashRun, sql: string): Promise<undefined> {
  await database.query(sql).catch(() => undefined)
}
