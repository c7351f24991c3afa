import type { TokenDraft, TokenRecord } from '../../contract/tokens.ts'
import type { Connection } from '../connection.ts'
import { writeAudit } from './audit.ts'

// 1 name  2 role  3 hash  4 lifetime in ms, or null
const CREATE = `
  insert into {prefix}tokens (name, role, hash, created_at, expires_at)
  values (?, ?, ?, cast(unixepoch('subsec') * 1000 as integer), cast(unixepoch('subsec') * 1000 as integer) + ?)
      on conflict do nothing`

// 1 name
const REVOKE = `
  delete from {prefix}tokens
   where name = ?`

// 1 hash
const FIND = `
  select name, role
    from {prefix}tokens
   where hash = ?
     and (expires_at is null or expires_at > cast(unixepoch('subsec') * 1000 as integer))`

const LIST = `
  select name, role, created_at, expires_at
    from {prefix}tokens
   order by name`

/** Inside a write transaction. */
export function createToken(
  connection: Connection,
  { name, role, hash, lifetimeMs }: TokenDraft,
  actor: string | undefined,
): boolean {
  if (connection.run(CREATE, [name, role, hash, lifetimeMs ?? null]) !== 1) return false
  noteToken(connection, 'createToken', name, actor)
  return true
}

/** Inside a write transaction. */
export function revokeToken(
  connection: Connection,
  name: string,
  actor: string | undefined,
): boolean {
  if (connection.run(REVOKE, [name]) !== 1) return false
  noteToken(connection, 'revokeToken', name, actor)
  return true
}

function noteToken(
  connection: Connection,
  action: string,
  name: string,
  actor: string | undefined,
): void {
  const order = { actor, reason: undefined, token: undefined }
  writeAudit(connection, { action, kind: 'token', id: name }, order, { status: 'done' })
}

export function findToken(
  connection: Connection,
  hash: string,
): Pick<TokenRecord, 'name' | 'role'> | undefined {
  return connection.all<Pick<TokenRow, 'name' | 'role'>>(FIND, [hash])[0]
}

export function listTokens(connection: Connection): readonly TokenRecord[] {
  return connection.all<TokenRow>(LIST).map((row) => ({
    name: row.name,
    role: row.role,
    createdAt: new Date(row.created_at),
    expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
  }))
}

type TokenRow = {
  name: string
  role: string
  created_at: number
  expires_at: number | null
}
