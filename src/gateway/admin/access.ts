/**
 * Who asks: by a token in `Authorization: Bearer`, by the cookie of a session that a token began, or by being on this
 * machine where no token is configured.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { AttemptLimit } from './attempt-limit.ts'
import type { Problem } from './problem.ts'
import type { Role } from './roles.ts'
import { hashSecret, isSameHash, TOKEN_PREFIX } from './secret-text.ts'
import { Sessions } from './sessions.ts'
import type { Session } from './sessions.ts'

/** On whose behalf a request is made. */
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
  /** Told when an address has guessed too often. */
  readonly onExceeded: (address: string) => void
}

/** The name of the config's own token, in the audit. */
const CONFIG_TOKEN_NAME = 'admin'
export const COOKIE = 'hookonce_session'

export class Access {
  readonly sessions: Sessions
  readonly #configHash: Uint8Array | undefined
  readonly #findToken: AccessOptions['findToken']
  readonly #now: () => number
  readonly #onExceeded: (address: string) => void
  readonly #guesses: AttemptLimit

  constructor({ token, findToken, now, onExceeded }: AccessOptions) {
    this.#now = now
    this.#onExceeded = onExceeded
    this.#guesses = this.limitAttempts()
    this.sessions = new Sessions(now)
    this.#configHash = token === undefined ? undefined : hashSecret(token)
    this.#findToken = findToken
  }

  /** Who a request is from, or that it is not known. Rejects when the store cannot be asked. */
  async identify({ headers, socket }: IncomingMessage): Promise<Principal | Problem> {
    const { authorization } = headers
    if (authorization !== undefined)
      return this.#identifyByToken(authorization, socket.remoteAddress ?? '')
    const session = this.#findSession(headers.cookie)
    if (session !== undefined) {
      const known = await this.findByHash(session.tokenHash)
      return known === undefined ? denied('session') : { ...known, session }
    }
    if (this.#configHash !== undefined) return denied('nothing')
    return { name: undefined, role: 'admin', tokenHash: undefined, session: undefined }
  }

  async #identifyByToken(authorization: string, address: string): Promise<Principal | Problem> {
    const token = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(authorization)?.[1] ?? ''
    return this.tryToken(token, { address, limit: this.#guesses })
  }

  /**
   * What a person chose can be guessed, so that an address that guesses has to wait, also with the right one. A token
   * that was made cannot: a client that has one does not wait because another client guesses. Behind a proxy all of them
   * have one address, and a stranger could keep all of them out.
   */
  async tryToken(
    token: string,
    { address, limit }: { readonly address: string; readonly limit: AttemptLimit },
  ): Promise<Principal | Problem> {
    const hash = hashSecret(token)
    // A stranger's text is no reason to ask the database.
    if (token.startsWith(TOKEN_PREFIX)) return (await this.findByHash(hash)) ?? denied('token')
    const exceeded = limit.problem(address)
    if (exceeded !== undefined) return exceeded
    const principal = this.#isConfigToken(hash) ? await this.findByHash(hash) : undefined
    if (principal !== undefined) return principal
    limit.failed(address)
    return denied('token')
  }

  /** For another way to guess. */
  limitAttempts(): AttemptLimit {
    return new AttemptLimit(this.#now, this.#onExceeded)
  }

  /** Whether a request of theirs would still be answered: a live stream is one request for hours. */
  async isStillKnown({ tokenHash, session }: Principal): Promise<boolean> {
    if (session !== undefined && !this.sessions.has(session)) return false
    return tokenHash === undefined || (await this.findByHash(tokenHash)) !== undefined
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
