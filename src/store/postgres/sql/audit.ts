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

/** Another transaction has written the token since we looked. What it did is found by looking again. */
export class TokenTaken extends Error {
  override readonly name = 'TokenTaken'
}

// $1 token
const FIND = `
  select id, action, subject_kind, subject_id, outcome
    from {schema}.audit
   where token = $1`

/**
 * What became of the action that the token stands for; `undefined` when it stands for none yet.
 *
 * Asked again before a refusal that comes of a statement which changed nothing: that one may have waited for the first
 * call with the token, which has committed since.
 */
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

/** What an action of this name was done to under the token, where what it makes has an id of its own. */
export async function findSubject(
  connection: Connection,
  { action, kind }: Omit<Deed, 'id'>,
  token: string | undefined,
): Promise<{ readonly id: string } | Extract<Acted, { status: 'refused' }> | undefined> {
  const [row] = token === undefined ? [] : (await connection.query(FIND, [withoutNul(token)])).rows
  if (row === undefined) return undefined
  const isSame = row['action'] === action && row['subject_kind'] === kind
  return isSame ? { id: row['subject_id'] ?? '' } : { status: 'refused', code: 'TOKEN_USED' }
}

// $1 actor  $2 action  $3 subject kind  $4 subject id  $5 reason  $6 token  $7 outcome
const WRITE = `
  insert into {schema}.audit (acted_at, actor, action, subject_kind, subject_id, reason, token, outcome)
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

// $1 subject kind, or null for any  $2 subject id  $3 below this row  $4 limit
const LIST = `
  select id, (extract(epoch from acted_at) * 1000)::bigint as acted_at, actor, action, subject_kind, subject_id, reason,
         token, outcome
    from {schema}.audit
   where ($1::text is null or (subject_kind = $1 and md5(subject_id) = md5($2) and subject_id = $2))
     and id < $3::bigint
   order by id desc
   limit $4`

/** None is higher. */
const HIGHEST = '9223372036854775807'

export async function listAudit(
  connection: Connection,
  { subject, below = HIGHEST, limit }: AuditQuery,
): Promise<readonly AuditRecord[]> {
  const id = subject === undefined ? null : withoutNul(subject.id)
  const { rows } = await connection.query(LIST, [subject?.kind ?? null, id, below, limit])
  return rows.map((row) => ({
    id: row['id'] ?? '',
    at: new Date(Number(row['acted_at'])),
    actor: row['actor'] ?? undefined,
    action: row['action'] ?? '',
    subject: { kind: row['subject_kind'] as SubjectKind, id: row['subject_id'] ?? '' },
    reason: row['reason'] ?? undefined,
    token: row['token'] ?? undefined,
    outcome: JSON.parse(row['outcome'] ?? '{}') as AuditRecord['outcome'],
  }))
}
