import type { Ordered } from '../../contract/operators.ts'
import type { PauseActed, PausedByName, PauseRecord, PauseSubject } from '../../contract/pauses.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection, TextRow } from '../connection.ts'
import { findByToken, writeAudit } from './audit.ts'

// $1 kind  $2 name  $3 reason  $4 actor
const PAUSE = `
  insert into {schema}.pauses (kind, name, paused_reason, paused_actor, paused_at)
  values ($1, $2, $3, $4, clock_timestamp())
      on conflict do nothing`

// $1 kind  $2 name
const RESUME = `
  delete from {schema}.pauses
   where kind = $1 and name = $2`

// Lanes with one text are one.
const LIST = `
  select kind, name, null as source, paused_reason, paused_actor, (extract(epoch from paused_at) * 1000)::bigint as paused_at
    from {schema}.pauses
   union all
  (select distinct on (source, key) 'lane', key, source, paused_reason, paused_actor,
          (extract(epoch from paused_at) * 1000)::bigint
     from {schema}.lanes
    where paused_at is not null
    order by source, key, paused_at)
   order by kind, source, name`

/** Inside a transaction of the caller. */
export async function pause(
  connection: Connection,
  { kind, name }: PausedByName,
  order: Ordered,
): Promise<PauseActed> {
  const deed = { action: 'pause', kind, id: name }
  const findDone = () => findByToken<{ status: 'done' }>(connection, deed, order.token)
  const before = await findDone()
  if (before !== undefined) return before
  const texts = [order.reason, order.actor].map((text) =>
    text === undefined ? null : withoutNul(text),
  )
  const { rowCount } = await connection.query(PAUSE, [kind, name, ...texts])
  if (rowCount !== 1) return (await findDone()) ?? { status: 'refused', code: 'PAUSED' }
  return writeAudit(connection, deed, order, { status: 'done' })
}

/** Inside a transaction of the caller. */
export async function resume(
  connection: Connection,
  { kind, name }: PausedByName,
  order: Ordered,
): Promise<PauseActed> {
  const deed = { action: 'resume', kind, id: name }
  const findDone = () => findByToken<{ status: 'done' }>(connection, deed, order.token)
  const before = await findDone()
  if (before !== undefined) return before
  const { rowCount } = await connection.query(RESUME, [kind, name])
  if (rowCount !== 1) return (await findDone()) ?? { status: 'refused', code: 'NOT_PAUSED' }
  return writeAudit(connection, deed, order, { status: 'done' })
}

export async function listPauses(connection: Connection): Promise<readonly PauseRecord[]> {
  const { rows } = await connection.query(LIST)
  return rows.map((row) => ({
    ...asSubject(row),
    reason: row['paused_reason'] ?? undefined,
    actor: row['paused_actor'] ?? undefined,
    pausedAt: new Date(Number(row['paused_at'])),
  }))
}

function asSubject({ kind, name, source }: TextRow): PauseSubject {
  if (kind === 'lane') return { kind, name: name ?? '', source: source ?? '' }
  return { kind: kind as PausedByName['kind'], name: name ?? '' }
}
