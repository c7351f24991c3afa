import type { PausedDestination } from '../../contract/messages.ts'
import type { Connection } from '../connection.ts'

// $1 name  $2 reason
const PAUSE = `
  insert into {schema}.paused_destinations (name, reason, paused_at)
  values ($1, $2, clock_timestamp())
      on conflict (name) do nothing`

// $1 name
const RESUME = `
  delete from {schema}.paused_destinations
   where name = $1`

const LIST = `
  select name, reason, (extract(epoch from paused_at) * 1000)::bigint as paused_at
    from {schema}.paused_destinations
   order by name`

export async function pauseDestination(
  connection: Connection,
  name: string,
  reason: string,
): Promise<boolean> {
  const { rowCount } = await connection.query(PAUSE, [name, reason])
  return rowCount === 1
}

export async function resumeDestination(connection: Connection, name: string): Promise<boolean> {
  const { rowCount } = await connection.query(RESUME, [name])
  return rowCount === 1
}

export async function listPausedDestinations(
  connection: Connection,
): Promise<readonly PausedDestination[]> {
  const { rows } = await connection.query<'name' | 'reason' | 'paused_at'>(LIST)
  return rows.map(({ name, reason, paused_at }) => ({
    name: name ?? '',
    reason: reason ?? '',
    pausedAt: new Date(Number(paused_at)),
  }))
}
