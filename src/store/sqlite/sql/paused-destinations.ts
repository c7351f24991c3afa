import type { PausedDestination } from '../../contract/messages.ts'
import type { Connection } from '../connection.ts'

// 1 name  2 reason
const PAUSE = `
  insert into {prefix}paused_destinations (name, reason, paused_at)
  values (?, ?, cast(unixepoch('subsec') * 1000 as integer))
      on conflict (name) do nothing`

// 1 name
const RESUME = `
  delete from {prefix}paused_destinations
   where name = ?`

const LIST = `
  select name, reason, paused_at
    from {prefix}paused_destinations
   order by name`

export function pauseDestination(connection: Connection, name: string, reason: string): boolean {
  return connection.run(PAUSE, [name, reason]) === 1
}

export function resumeDestination(connection: Connection, name: string): boolean {
  return connection.run(RESUME, [name]) === 1
}

export function listPausedDestinations(connection: Connection): readonly PausedDestination[] {
  return connection
    .all<{ name: string; reason: string; paused_at: number }>(LIST)
    .map(({ name, reason, paused_at }) => ({ name, reason, pausedAt: new Date(paused_at) }))
}
