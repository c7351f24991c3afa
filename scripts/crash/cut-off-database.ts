import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { DEAD_AFTER_MS, sleep } from './crash-run.ts'
import type { CrashRun, Fault } from './crash-run.ts'

/** Longer than any `deadAfterMs` in use, so that no heart can be seen to beat. */
const LONG_MS = 13_000
const CALM_LIMIT_MS = 60_000

/** Outages: the database stands still, or cannot be reached, for longer than a worker's heart may. */
export function cutOffDatabase({ postgres, database }: CrashRun): readonly Fault[] {
  if (database.store.engine === 'sqlite') {
    const { file } = database.store
    return [
      {
        name: 'a file that is locked for 13 s',
        weight: 0.5,
        inject: (run) => outage(run, () => lockFile(file)),
      },
    ]
  }
  if (postgres === undefined) return []
  const { server, proxy } = postgres
  const cuts: readonly [string, () => void, () => void][] = [
    ['a server that stands still', () => server.freeze(), () => server.thaw()],
    ['a network that drops everything', () => proxy.freeze(), () => proxy.restore()],
    ['a server that refuses every connection', () => proxy.cutOff(), () => proxy.restore()],
  ]
  return cuts.map(([name, cut, mend]) => ({
    name: `${name} for 13 s`,
    weight: 0.3,
    inject: (run) => outage(run, async () => (cut(), mend)),
  }))
}

/**
 * What no process died of is no crash: where all lived through it, not one may be counted.
 *
 * Those before are counted first, so that they are not taken for its own.
 */
async function outage(
  run: CrashRun,
  begin: () => Promise<() => void>,
): Promise<string | undefined> {
  const isCalm = await untilCalm(run)
  const replaced = run.fleet.replaced
  const before = isCalm ? await countCrashes(run) : undefined
  const end = await begin()
  await sleep(LONG_MS)
  end()
  // As long as they need to show that they live, and to look for those that do not.
  await sleep(2 * DEAD_AFTER_MS)
  if (before === undefined || run.fleet.replaced !== replaced) return undefined
  const counted = (await countCrashes(run)) - before
  return counted > 0
    ? `${counted} crashes were counted in an outage that no process died of`
    : undefined
}

/** Whether every process is up, and all that died before has been found. */
async function untilCalm({ fleet }: CrashRun): Promise<boolean> {
  const giveUpAt = performance.now() + CALM_LIMIT_MS
  let replaced = -1
  while (performance.now() < giveUpAt) {
    if (fleet.isFull && fleet.replaced === replaced) return true
    replaced = fleet.isFull ? fleet.replaced : -1
    await sleep(2 * DEAD_AFTER_MS)
  }
  return false
}

async function countCrashes({ database }: CrashRun): Promise<number> {
  const table = database.engine === 'postgres' ? 'hookonce.attempts' : 'hookonce_attempts'
  const sql = `select count(*) as found from ${table} where reason = 'crashed'`
  return Number((await database.query(sql))[0]?.['found'])
}

async function lockFile(file: string): Promise<() => void> {
  const handle = (await openDriver('libsql')).open(file)
  handle.execute('pragma busy_timeout = 5000')
  handle.execute('begin immediate')
  return () => {
    handle.execute('rollback')
    handle.close()
  }
}
