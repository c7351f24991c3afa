import type { ClockKept } from '../../contract/events.ts'
import type { Connection } from '../connection.ts'
import type { Connections } from '../connections.ts'
import { correctClock, TOLERANCE_MS } from './correct-clock.ts'

/** How old the time that is written down may be. */
const EVERY_MS = 1_000
const NOTHING: ClockKept = { isWritten: false, wentBackMs: 0 }

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const READ = `
  select ${NOW} as now,
         (select cast(value as integer) from {prefix}meta where name = 'clock') as last`

// 1 tolerance in ms
//
// A time before the one that is there is not written: it is a clock that was set back.
const WRITE = `
  insert into {prefix}meta (name, value)
  values ('clock', cast(${NOW} as text))
      on conflict (name) do update
     set value = excluded.value
   where cast({prefix}meta.value as integer) <= cast(excluded.value as integer) + ?`

export async function keepClock(
  connections: Connections,
  { always }: { always: boolean },
): Promise<ClockKept> {
  const clock = await connections.read(readClock)
  if (clock === 'good' && !always) return NOTHING
  const { writer, deadline } = connections.getWriter()
  const turn = await writer.acquire(deadline).catch(() => undefined)
  // A handler of this process may hold the writer for longer, which is no fault of the store.
  if (turn === undefined) return NOTHING
  try {
    const isBack = clock === 'back'
    const options = { deadline: connections.getWriter().deadline, durable: isBack }
    const wentBackMs = await turn.transact(options, isBack ? correctClock : writeClock)
    return { isWritten: !isBack || wentBackMs > 0, wentBackMs }
  } finally {
    turn.giveBack()
  }
}

/** What the clock says beside the time that was written down last, asked without the write lock. */
function readClock(connection: Connection): 'good' | 'old' | 'back' {
  const [row] = connection.all<{ now: number; last: number | null }>(READ)
  if (row === undefined || row.last === null) return 'old'
  if (row.last > row.now + TOLERANCE_MS) return 'back'
  return row.last > row.now - EVERY_MS ? 'good' : 'old'
}

/** By how much the clock went back: not at all. Inside a write transaction. */
function writeClock(connection: Connection): number {
  connection.run(WRITE, [TOLERANCE_MS])
  return 0
}
