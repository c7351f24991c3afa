import type {
  Acted,
  AuditQuery,
  AuditRecord,
  Ordered,
  SubjectKind,
} from '../../contract/operators.ts'
import { withoutNul } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

/** Another transaction has written the token since we looked. What it did is found by looking again. */
export class TokenTaken extends Error {
  override readonly name = 'TokenTaken'
}

/** What was done, and to what. */
export interface Deed {
  readonly action: string
  readonly kind: SubjectKind
  readonly id: string
}

// $1 token
const FIND = `
  select id, action, subject_kind, subject_id, outcome
    from {schema}.audit
   where token = $1`

/** What became of the action that the token stands for; `undefined` when it stands for none yet. */
export async function findByToken<Done extends { readonly status: 'done' }>(
  connection: Connection,
  deed: Deed,
  token: string | undefined,
): Promise<Done | Extract<Acted, { status: 'refused' }> | undefined> {
  const found = await findAudit(connection, deed, token)
  return found !== undefined && 'auditId' in found ? (found.outcome as Done) : found
}

/** The same, of an action that may not have ended. */
export async function findAudit(
  connection: Connection,
  { action, kind, id }: Deed,
  token: string | undefined,
): Promise<FoundAudit | Extract<Acted, { status: 'refused' }> | undefined> {
  if (token === undefined) return undefined
  const { rows } = await connection.query(FIND, [withoutNul(token)])
  const [row] = rows
  if (row === undefined) return undefined
  const isSame =
    row['action'] === action && row['subject_kind'] === kind && row['subject_id'] === id
  if (!isSame) return { status: 'refused', code: 'TOKEN_USED' }
  return {
    auditId: row['id'] ?? '',
    outcome: JSON.parse(row['outcome'] ?? '{}') as AuditRecord['outcome'],
  }
}

/** A row of the audit, by its token. */
export interface FoundAudit {
  readonly auditId: string
  readonly outcome: AuditRecord['outcome']
}

// $1 actor  $2 action  $3 subject kind  $4 subject id  $5 reason  $6 token  $7 outcome
const WRITE = `
  insert into {schema}.audit (at, actor, action, subject_kind, subject_id, reason, token, outcome)
  values (clock_timestamp(), $1, $2, $3, $4, $5, $6, $7)
      on conflict (token) do nothing
  returning id`

/**
 * In the transaction that makes the change.
 *
 * @throws TokenTaken when another transaction was faster: nothing of this one may be kept
 */
export async function writeAudit<Done extends { readonly status: 'done' }>(
  connection: Connection,
  deed: Deed,
  order: Ordered,
  outcome: Done,
): Promise<Done> {
  await addAudit(connection, deed, order, outcome)
  return outcome
}

/** The same, for what may not have ended. Returns the id of its row. */
export async function addAudit(
  connection: Connection,
  { action, kind, id }: Deed,
  { actor, reason, token }: Ordered,
  outcome: AuditRecord['outcome'],
): Promise<string> {
  const texts = [reason, token].map((text) => (text === undefined ? null : withoutNul(text)))
  const { rows } = await connection.query<'id'>(WRITE, [
    actor === undefined ? null : withoutNul(actor),
    action,
    kind,
    id,
    ...texts,
    JSON.stringify(outcome),
  ])
  const [row] = rows
  if (row === undefined) throw new TokenTaken()
  return row.id ?? ''
}

// $1 row  $2 outcome
const END = `
  update {schema}.audit
     set outcome = $2
   where id = $1`

/** Says what became of an action that had not ended when it was written down. */
export async function endAudit(
  connection: Connection,
  auditId: string,
  outcome: AuditRecord['outcome'],
): Promise<void> {
  await connection.query(END, [auditId, JSON.stringify(outcome)])
}

// $1 subject kind, or null for any  $2 subject id  $3 limit
const LIST = `
  select (extract(epoch from at) * 1000)::bigint as at, actor, action, subject_kind, subject_id, reason, token,
         outcome
    from {schema}.audit
   where $1::text is null or (subject_kind = $1 and md5(subject_id) = md5($2) and subject_id = $2)
   order by id desc
   limit $3`

export async function listAudit(
  connection: Connection,
  { subject, limit }: AuditQuery,
): Promise<readonly AuditRecord[]> {
  const { rows } = await connection.query(LIST, [subject?.kind ?? null, subject?.id ?? null, limit])
  return rows.map((row) => ({
    at: new Date(Number(row['at'])),
    actor: row['actor'] ?? undefined,
    action: row['action'] ?? '',
    subject: { kind: row['subject_kind'] as SubjectKind, id: row['subject_id'] ?? '' },
    reason: row['reason'] ?? undefined,
    token: row['token'] ?? undefined,
    outcome: JSON.parse(row['outcome'] ?? '{}') as AuditRecord['outcome'],
  }))
}
