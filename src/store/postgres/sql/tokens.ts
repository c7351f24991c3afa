import type { TokenDraft, TokenRecord } from '../../contract/tokens.ts'
import type { Connection } from '../connection.ts'
import { writeAudit } from './audit.ts'

// $1 name  $2 role  $3 hash  $4 lifetime in ms, or null
const CREATE = `
  insert into {schema}.tokens (name, role, hash, created_at, expires_at)
  values ($1, $2, $3, statement_timestamp(), statement_timestamp() + $4::bigint * interval '1 millisecond')
      on conflict do nothing`

// $1 name
const REVOKE = `
  delete from {schema}.tokens
   where name = $1`

// $1 hash
const FIND = `
  select name, role
    from {schema}.tokens
   where hash = $1
     and (expires_at is null or expires_at > clock_timestamp())`

const LIST = `
  select name, role, (extract(epoch from created_at) * 1000)::bigint as created_at,
         (extract(epoch from expires_at) * 1000)::bigint as expires_at
    from {schema}.tokens
   order by name collate "C"`

/** Inside a transaction of the caller. */
export async function createToken(
  connection: Connection,
  { name, role, hash, lifetimeMs }: TokenDraft,
  actor: string | undefined,
): Promise<boolean> {
  const lifetime = lifetimeMs === undefined ? null : String(lifetimeMs)
  const { rowCount } = await connection.query(CREATE, [name, role, hash, lifetime])
  if (rowCount !== 1) return false
  await noteToken(connection, 'createToken', name, actor)
  return true
}

/** Inside a transaction of the caller. */
export async function revokeToken(
  connection: Connection,
  name: string,
  actor: string | undefined,
): Promise<boolean> {
  const { rowCount } = await connection.query(REVOKE, [name])
  if (rowCount !== 1) return false
  await noteToken(connection, 'revokeToken', name, actor)
  return true
}

async function noteToken(
  connection: Connection,
  action: string,
  name: string,
  actor: string | undefined,
): Promise<void> {
  const order = { actor, reason: undefined, token: undefined }
  await writeAudit(connection, { action, kind: 'token', id: name }, order, { status: 'done' })
}

export async function findToken(
  connection: Connection,
  hash: string,
): Promise<Pick<TokenRecord, 'name' | 'role'> | undefined> {
  const { rows } = await connection.query(FIND, [hash])
  const [row] = rows
  return row && { name: row['name'] ?? '', role: row['role'] ?? '' }
}

export async function listTokens(connection: Connection): Promise<readonly TokenRecord[]> {
  const { rows } = await connection.query(LIST)
  return rows.map((row) => ({
    name: row['name'] ?? '',
    role: row['role'] ?? '',
    createdAt: new Date(Number(row['created_at'])),
    expiresAt: row['expires_at'] == null ? undefined : new Date(Number(row['expires_at'])),
  }))
}
