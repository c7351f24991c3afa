/**
 * The tokens that operators are known by: made, listed and revoked on the store of a gateway.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import { requireOneOf } from '../../options/require-one-of.ts'
import type { TokenRecord, TokenStore } from '../../store/contract/tokens.ts'
import type { KnownToken } from './access.ts'
import { ROLES } from './roles.ts'
import type { Role } from './roles.ts'
import { hashSecret, newSecretText, TOKEN_PREFIX } from './secret-text.ts'

/** What a token is made of. */
export interface NewToken {
  readonly name: string
  readonly role: Role
  /** Left out, it has no end. */
  readonly lifetimeMs?: number
}

/** What became of it. */
export type CreatedToken =
  /** The token is shown here, and kept nowhere. */
  { readonly status: 'created'; readonly token: string } | { readonly status: 'name-taken' }

/** No slash: the audit puts one behind the name. The config's own token is called `admin`. */
const NAME = /^(?!admin$)[a-z0-9][a-z0-9._@-]{0,59}$/

/** @throws OptionInvalidError for a name or a role that cannot be used */
export async function createToken(
  tokens: TokenStore,
  { name, role, lifetimeMs }: NewToken,
  actor?: string,
): Promise<CreatedToken> {
  if (!NAME.test(name))
    throw new OptionInvalidError(
      'token.name',
      'written with a-z, 0-9, ".", "_", "@" and "-", with 60 characters at most, and not "admin"',
      name,
    )
  requireOneOf('token.role', role, ROLES)
  const token = `${TOKEN_PREFIX}${newSecretText()}`
  const hash = hashSecret(token).toString('hex')
  const isMade = await tokens.create({ name, role, hash, lifetimeMs }, actor)
  return isMade ? { status: 'created', token } : { status: 'name-taken' }
}

/** One that counts now. What is no role of ours may do nothing. */
export async function findToken(
  tokens: TokenStore,
  hash: Uint8Array,
): Promise<KnownToken | undefined> {
  const found = await tokens.find(Buffer.from(hash).toString('hex'))
  const role = ROLES.find((each) => each === found?.role)
  return found && role && { name: found.name, role }
}

export type { TokenRecord }
