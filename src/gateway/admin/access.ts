/**
 * Who asks: by a token in `Authorization: Bearer`, by the cookie of a session that a token began, or by being on this
 * machine where no token is configured.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import type { Problem } from './problem.ts'
import type { Role } from './roles.ts'
import { hashSecret, isSameHash, TOKEN_PREFIX } from './secret-text.ts'
import { Sessions } from './sessions.ts'
import type { Session } from './sessions.ts'

/** The one who asks. */
export interface Principal {
  /** What the audit calls them: the name of the token. `undefined` on this machine without a token. */
  readonly name: string | undefined
  readonly role: Role
  /** Of the token, where there is one. */
  readonly tokenHash: Uint8Array | undefined
  /** Where a cookie says it. */
  readonly session: Session | undefined
}

/** A token that the store has. */
export interface KnownToken {
  readonly name: string
  readonly role: Role
}

export interface AccessOptions {
  /** That of the config, which is an admin's. Without one, every process of this machine is an admin. */
  readonly token: string | undefined
  /** One of the store that is neither revoked nor expired. */
  readonly findToken: (hash: Uint8Array) => Promise<KnownToken | undefined>
  readonly now: () => number
}

/** The name of the config's own token, in the audit. */
const CONFIG_TOKEN_NAME = 'admin'
export const COOKIE = 'hookonce_session'

export class Access {
  readonly sessions: Sessions
  readonly #configHash: Uint8Array | undefined
  readonly #findToken: AccessOptions['findToken']

  constructor({ token, findToken, now }: AccessOptions) {
    this.sessions = new Sessions(now)
    this.#configHash = token === undefined ? undefined : hashSecret(token)
    this.#findToken = findToken
  }

  /** Who a request is from, or that it is not known. Rejects when the store cannot be asked. */
  async identify({ headers }: IncomingMessage): Promise<Principal | Problem> {
    const { authorization } = headers
    if (authorization !== undefined) {
      const token = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(authorization)?.[1]
      return (token === undefined ? undefined : await this.findByToken(token)) ?? denied('token')
    }
    const session = this.#findSession(headers.cookie)
    if (session !== undefined) {
      const known = await this.findByHash(session.tokenHash)
      return known === undefined ? denied('session') : { ...known, session }
    }
    if (this.#configHash !== undefined) return denied('nothing')
    return { name: undefined, role: 'admin', tokenHash: undefined, session: undefined }
  }

  async findByToken(token: string): Promise<Principal | undefined> {
    const hash = hashSecret(token)
    // A stranger's text is no reason to ask the database.
    const mayBeStored = token.startsWith(TOKEN_PREFIX)
    return this.#isConfigToken(hash) || mayBeStored ? this.findByHash(hash) : undefined
  }

  async findByHash(tokenHash: Uint8Array): Promise<Principal | undefined> {
    const known: KnownToken | undefined = this.#isConfigToken(tokenHash)
      ? { name: CONFIG_TOKEN_NAME, role: 'admin' }
      : await this.#findToken(tokenHash)
    return known && { name: known.name, role: known.role, tokenHash, session: undefined }
  }

  #isConfigToken(hash: Uint8Array): boolean {
    return this.#configHash !== undefined && isSameHash(hash, this.#configHash)
  }

  #findSession(cookies: string | undefined): Session | undefined {
    const cookie = cookieOf(cookies)
    return cookie === undefined ? undefined : this.sessions.find(cookie)
  }
}

/** What our cookie says. */
export function cookieOf(cookies: string | undefined): string | undefined {
  return new RegExp(`(?:^|; ?)${COOKIE}=([\\w-]{20,100})(?:;|$)`).exec(cookies ?? '')?.[1]
}

const DETAILS = {
  nothing: 'A token is needed: `Authorization: Bearer <token>`. `hookonce token create` makes one.',
  token: 'The token is not known, or it was revoked, or its time is over.',
  session: 'The token of this session was revoked, or its time is over. Log in again.',
}

export function denied(why: keyof typeof DETAILS): Problem {
  return {
    status: 401,
    code: 'ACCESS_DENIED',
    detail: DETAILS[why],
    headers: { 'www-authenticate': 'Bearer' },
  }
}
