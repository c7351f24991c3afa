import type { Ordered } from '../../contract/operators.ts'
import type { PauseActed, PausedByName, PauseRecord, PauseSubject } from '../../contract/pauses.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'
import { findByToken, writeAudit } from './audit.ts'

// 1 kind  2 name  3 reason  4 actor
const PAUSE = `
  insert into {prefix}pauses (kind, name, paused_reason, paused_actor, paused_at)
  values (?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer))
      on conflict do nothing`

// 1 kind  2 name
const RESUME = `
  delete from {prefix}pauses
   where kind = ?
     and name = ?`

// Lanes with one text are one.
const LIST = `
  select kind, name, null as source, paused_reason, paused_actor, paused_at
    from {prefix}pauses
   union all
  select 'lane', key, source, paused_reason, paused_actor, min(paused_at)
    from {prefix}lanes
   where paused_at is not null
   group by source, key
   order by kind, source, name`

/** Inside a write transaction. */
export function pause(
  connection: Connection,
  { kind, name }: PausedByName,
  order: Ordered,
): PauseActed {
  const deed = { action: 'pause', kind, id: name }
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  const texts = [order.reason, order.actor].map((text) =>
    text === undefined ? null : withoutNul(text),
  )
  if (connection.run(PAUSE, [kind, name, ...texts]) !== 1)
    return { status: 'refused', code: 'PAUSED' }
  return writeAudit(connection, deed, order, { status: 'done' })
}

/** Inside a write transaction. */
export function resume(
  connection: Connection,
  { kind, name }: PausedByName,
  order: Ordered,
): PauseActed {
  const deed = { action: 'resume', kind, id: name }
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  if (connection.run(RESUME, [kind, name]) !== 1) return { status: 'refused', code: 'NOT_PAUSED' }
  return writeAudit(connection, deed, order, { status: 'done' })
}

export function listPauses(connection: Connection): readonly PauseRecord[] {
  return connection.all<PauseRow>(LIST).map((row) => ({
    ...asSubject(row),
    reason: row.paused_reason ?? undefined,
    actor: row.paused_actor ?? undefined,
    pausedAt: new Date(row.paused_at),
  }))
}

function asSubject({ kind, name, source }: PauseRow): PauseSubject {
  return kind === 'lane' ? { kind, name, source: source ?? '' } : { kind, name }
}

type PauseRow = {
  kind: PauseSubject['kind']
  name: string
  source: string | null
  paused_reason: string | null
  paused_actor: string | null
  paused_at: number
}
