import type { Connection } from '../connection.ts'
import { TOLERANCE_MS } from './correct-clock.ts'

/** How old the time that is written down may be. */
const EVERY_MS = 1_000

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const READ = `
  select ${NOW} as now,
         (select cast(value as integer) from {prefix}meta where name = 'clock') as last`

const WRITE = `
  insert into {prefix}meta (name, value)
  values ('clock', cast(${NOW} as text))
      on conflict (name) do update
     set value = excluded.value
   where cast({prefix}meta.value as integer) <= cast(excluded.value as integer) + ${TOLERANCE_MS}`

/** What the clock says beside the time that was written down last, asked without the write lock. */
export function readClock(connection: Connection): 'good' | 'old' | 'back' {
  const [row] = connection.all<{ now: number; last: number | null }>(READ)
  if (row === undefined || row.last === null) return 'old'
  if (row.last > row.now + TOLERANCE_MS) return 'back'
  return row.last > row.now - EVERY_MS ? 'good' : 'old'
}

/** Inside a write transaction. A time before the one that is there is not written: it is a clock that was set back. */
export function writeClock(connection: Connection): void {
  connection.run(WRITE)
}
