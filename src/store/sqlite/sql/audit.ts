import type {
  Acted,
  AuditQuery,
  AuditRecord,
  Ordered,
  SubjectKind,
} from '../../contract/operators.ts'
import type { Deed, FoundAudit } from '../../shared/deed.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'

// 1 token
const FIND = `
  select id, action, subject_kind, subject_id, outcome
    from {prefix}audit
   where token = ?`

/** What became of the action that the token stands for; `undefined` when it stands for none yet. */
export function findByToken<Done extends { readonly status: 'done' }>(
  connection: Connection,
  deed: Deed,
  token: string | undefined,
): Done | Extract<Acted, { status: 'refused' }> | undefined {
  const found = findAudit(connection, deed, token)
  return found !== undefined && 'auditId' in found ? (found.outcome as Done) : found
}

/** The same, of an action that may not have ended. */
export function findAudit(
  connection: Connection,
  { action, kind, id }: Deed,
  token: string | undefined,
): FoundAudit | Extract<Acted, { status: 'refused' }> | undefined {
  if (token === undefined) return undefined
  const [row] = connection.all<FoundRow>(FIND, [withoutNul(token)])
  if (row === undefined) return undefined
  const isSame = row.action === action && row.subject_kind === kind && row.subject_id === id
  if (!isSame) return { status: 'refused', code: 'TOKEN_USED' }
  const outcome = JSON.parse(row.outcome) as AuditRecord['outcome']
  return { auditId: String(row.id), outcome }
}

/** What an action of this name was done to under the token, where what it makes has an id of its own. */
export function findSubject(
  connection: Connection,
  { action, kind }: Omit<Deed, 'id'>,
  token: string | undefined,
): { readonly id: string } | Extract<Acted, { status: 'refused' }> | undefined {
  const [row] = token === undefined ? [] : connection.all<FoundRow>(FIND, [withoutNul(token)])
  if (row === undefined) return undefined
  const isSame = row.action === action && row.subject_kind === kind
  return isSame ? { id: row.subject_id } : { status: 'refused', code: 'TOKEN_USED' }
}

type FoundRow = {
  id: number
  action: string
  subject_kind: string
  subject_id: string
  outcome: string
}

// 1 actor  2 action  3 subject kind  4 subject id  5 reason  6 token  7 outcome
const WRITE = `
  insert into {prefix}audit (acted_at, actor, action, subject_kind, subject_id, reason, token, outcome)
  values (cast(unixepoch('subsec') * 1000 as integer), ?, ?, ?, ?, ?, ?, ?)
  returning id`

/** In the transaction that makes the change. With one writer no other call has come between it and the look. */
export function writeAudit<Done extends { readonly status: 'done' }>(
  connection: Connection,
  deed: Deed,
  order: Ordered,
  outcome: Done,
): Done {
  addAudit(connection, deed, order, outcome)
  return outcome
}

/** The same, for what may not have ended. Returns the id of its row. */
export function addAudit(
  connection: Connection,
  { action, kind, id }: Deed,
  { actor, reason, token }: Ordered,
  outcome: AuditRecord['outcome'],
): string {
  const [who, why, under] = [actor, reason, token].map((text) =>
    text === undefined ? null : withoutNul(text),
  )
  const values = [who, action, kind, id, why, under, JSON.stringify(outcome)]
  const [row] = connection.all<{ id: number }>(WRITE, values)
  return String(row?.id)
}

// 1 outcome  2 row
const END = `
  update {prefix}audit
     set outcome = ?
   where id = ?`

/** Says what became of an action that had not ended when it was written down. */
export function endAudit(
  connection: Connection,
  auditId: string,
  outcome: AuditRecord['outcome'],
): void {
  connection.run(END, [JSON.stringify(outcome), Number(auditId)])
}

// 1 subject kind, or null for any  2 subject id  3 below this row  4 limit
const LIST = `
  select id, acted_at, actor, action, subject_kind, subject_id, reason, token, outcome
    from {prefix}audit
   where (?1 is null or (subject_kind = ?1 and subject_id = ?2))
     and id < ?3
   order by id desc
   limit ?4`

/** Its rows are numbered from 1, and none is higher. */
const HIGHEST = Number.MAX_SAFE_INTEGER

export function listAudit(
  connection: Connection,
  { subject, below, limit }: AuditQuery,
): readonly AuditRecord[] {
  return connection
    .all<AuditRow>(LIST, [
      subject?.kind ?? null,
      subject?.id ?? null,
      below === undefined ? HIGHEST : Math.min(Number(below), HIGHEST),
      limit,
    ])
    .map((row) => ({
      id: String(row.id),
      at: new Date(row.acted_at),
      actor: row.actor ?? undefined,
      action: row.action,
      subject: { kind: row.subject_kind, id: row.subject_id },
      reason: row.reason ?? undefined,
      token: row.token ?? undefined,
      outcome: JSON.parse(row.outcome) as AuditRecord['outcome'],
    }))
}

type AuditRow = {
  id: number
  acted_at: number
  actor: string | null
  action: string
  subject_kind: SubjectKind
  subject_id: string
  reason: string | null
  token: string | null
  outcome: string
}
