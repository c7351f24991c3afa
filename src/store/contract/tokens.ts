/**
 * What a store must do to keep the tokens of a gateway's operators: by their hashes, never by themselves. What a role
 * may do is not its business.
 *
 * @module
 */

export interface TokenStore {
  /** Writes the token, and to the audit who made it. `false`, and nothing is written, where the name is taken. */
  create(draft: TokenDraft, actor: string | undefined): Promise<boolean>
  /** Removes it, and writes to the audit who did. `false` where there is none of that name. */
  revoke(name: string, actor: string | undefined): Promise<boolean>
  /** The token with this hash, unless it has expired by the database's clock. */
  find(hash: string): Promise<Pick<TokenRecord, 'name' | 'role'> | undefined>
  /** By name, also those that have expired. */
  list(): Promise<readonly TokenRecord[]>
}

/** A token before it is stored. */
export interface TokenDraft {
  /** What the audit calls its user. */
  readonly name: string
  readonly role: string
  /** SHA-256, as hexadecimal digits. */
  readonly hash: string
  /** How long it counts, by the database's clock; `undefined` for one without an end. */
  readonly lifetimeMs: number | undefined
}

/** A token as it can be shown. */
export interface TokenRecord {
  readonly name: string
  readonly role: string
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
}
