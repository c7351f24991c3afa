import type { Ordered, PauseKind } from '../../contract/operators.ts'
import type { PauseActed, PauseRecord, PauseSubject } from '../../contract/pauses.ts'
import type { Connection } from '../connection.ts'
import { findByToken, withoutNul, writeAudit } from './audit.ts'

// 1 kind  2 name  3 reason  4 actor
const PAUSE = `
  insert into {prefix}pauses (kind, name, reason, actor, paused_at)
  values (?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer))
      on conflict do nothing`

// 1 kind  2 name
const RESUME = `
  delete from {prefix}pauses
   where kind = ?
     and name = ?`

const LIST = `
  select kind, name, reason, actor, paused_at
    from {prefix}pauses
   order by kind, name`

/** Inside a write transaction. */
export function pause(
  connection: Connection,
  { kind, name }: PauseSubject,
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
  { kind, name }: PauseSubject,
  order: Ordered,
): PauseActed {
  const deed = { action: 'resume', kind, id: name }
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  if (connection.run(RESUME, [kind, name]) !== 1) return { status: 'refused', code: 'NOT_PAUSED' }
  return writeAudit(connection, deed, order, { status: 'done' })
}

export function listPauses(connection: Connection): readonly PauseRecord[] {
  return connection.all<PauseRow>(LIST).map(({ kind, name, reason, actor, paused_at }) => ({
    kind,
    name,
    reason: reason ?? undefined,
    actor: actor ?? undefined,
    pausedAt: new Date(paused_at),
  }))
}

type PauseRow = {
  kind: PauseKind
  name: string
  reason: string | null
  actor: string | null
  paused_at: number
}
