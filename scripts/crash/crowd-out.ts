import {
  createFloodEvent,
  createHangingEvent,
  createQuietEvent,
  createSlowEvent,
} from './create-event.ts'
import { sleep } from './crash-run.ts'
import type { CrashRun, Fault, SentEvent } from './crash-run.ts'
import { sendEvents } from './send-events.ts'

const QUIET = 20

/** Many, slow and hanging events of one handler, beside a quiet sender who must not wait for all of them. */
export function crowdOut({ database }: CrashRun): readonly Fault[] {
  // SQLite has one writer: what takes a second there takes it of all.
  const isSqlite = database.engine === 'sqlite'
  const crowds: readonly [string, number, (key: string, n: number) => SentEvent][] = [
    ['a flood of one type', isSqlite ? 300 : 1_500, createFloodEvent],
    [
      'slow handlers',
      isSqlite ? SLOW.length : 40,
      (key, n) => createSlowEvent(key, isSqlite ? SLOW[n]! : 1_000 + 50 * n),
    ],
    ['hanging handlers', isSqlite ? 12 : 60, createHangingEvent],
  ]
  return crowds.map(([name, count, create]) => ({
    name: `${name} beside a quiet sender`,
    weight: 0.5,
    inject: (run) => crowd(run, { name, count, create }),
  }))
}

/**
 * On SQLite, where a handler that has written holds the only writer until it ends. One takes longer than another
 * slot waits for the writer. There are more than the slots of the fleet can have under way at once: a quiet event
 * waits for those that have begun, and must not wait for the others.
 */
const SLOW = [1_500, 7_000, 500, 1_000, 500, 500, 500, 500, 500, 500]

interface Crowd {
  readonly name: string
  readonly count: number
  readonly create: (key: string, n: number) => SentEvent
}

/**
 * The quiet events are sent when the crowd is stored. By their age alone they would come after all of it; at least
 * half of them must be done while some of the crowd still waits. It is the order that is looked at, and no time.
 */
async function crowd(run: CrashRun, { name, count, create }: Crowd): Promise<string | undefined> {
  const round = run.acknowledged.size
  const crowded = Array.from({ length: count }, (_, n) => create(`crowd_${round}_${n}`, n))
  await sendEvents(run, crowded)
  const quiet = Array.from({ length: QUIET }, (_, n) => createQuietEvent(`quiet_${round}_${n}`))
  await sendEvents(run, quiet)

  const replaced = run.fleet.replaced
  let isCrowded = false
  let done = 0
  for (;;) {
    // In this order: what is done now was done while the crowd that is counted afterwards still waited.
    const nowDone = QUIET - (await countQueued(run, quiet))
    const left = await countQueued(run, crowded)
    if (left === 0 || done === QUIET) break
    isCrowded ||= left > count / 4
    done = nowDone
    await sleep(50)
  }
  // Over before it could be in the way of anything, or held up by a process that had to be replaced.
  if (!isCrowded || run.fleet.replaced !== replaced) return undefined
  return done < QUIET / 2
    ? `beside ${name} ${done} of ${QUIET} events of a quiet sender were done before the last of ${count}`
    : undefined
}

/** How many of these have no outcome yet. */
async function countQueued({ database }: CrashRun, events: readonly SentEvent[]): Promise<number> {
  const isPostgres = database.engine === 'postgres'
  const prefix = isPostgres ? 'hookonce.' : 'hookonce_'
  const key = isPostgres ? `convert_from(e.event_key, 'UTF8')` : 'cast(e.event_key as text)'
  const rows = await database.query(
    `select ${key} as key from ${prefix}queue q join ${prefix}events e on e.id = q.event_id`,
  )
  const queued = new Set(rows.map((row) => String(row['key'])))
  return events.filter((event) => queued.has(event.key)).length
}
