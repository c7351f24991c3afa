/**
 * Sessions of browsers, which cannot send a token with a link: a cookie stands for a token that was shown once.
 *
 * Kept in the memory of the process, under the hash of the cookie. The token itself is looked up with every request,
 * so that one that is revoked or expired ends its sessions.
 *
 * @module
 */

import { hashSecret, isSameHash, newSecretText } from './secret-text.ts'

/** A session that was begun. */
export interface Session {
  /** Of the token that it stands for. */
  readonly tokenHash: Uint8Array
  /** What a request that changes something says in a header, which no page of another site can know. */
  readonly requestToken: string
  readonly expiresAt: number
}

/** How long a session lasts. */
export const SESSION_MS = 12 * 3_600_000
/** The oldest makes room. */
const SESSIONS_MAX = 1_000

export class Sessions {
  readonly #byHash = new Map<string, Session>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** What the cookie says is shown once, here. */
  begin(tokenHash: Uint8Array): Session & { readonly cookie: string } {
    const cookie = newSecretText()
    const session = {
      tokenHash,
      requestToken: newSecretText(),
      expiresAt: this.#now() + SESSION_MS,
    }
    const [oldest] = this.#byHash.keys()
    if (this.#byHash.size >= SESSIONS_MAX && oldest !== undefined) this.#byHash.delete(oldest)
    this.#byHash.set(keyOf(cookie), session)
    return { ...session, cookie }
  }

  find(cookie: string): Session | undefined {
    const session = this.#byHash.get(keyOf(cookie))
    if (session === undefined || session.expiresAt > this.#now()) return session
    this.end(cookie)
    return undefined
  }

  /** Whether it was neither ended nor outlived, and has not made room for others. */
  has(session: Session): boolean {
    return session.expiresAt > this.#now() && [...this.#byHash.values()].includes(session)
  }

  end(cookie: string): void {
    this.#byHash.delete(keyOf(cookie))
  }
}

/** Whether a request knows what only the page that logged in does. */
export function hasRequestToken(session: Session, said: unknown): boolean {
  if (typeof said !== 'string') return false
  return isSameHash(hashSecret(said), hashSecret(session.requestToken))
}

function keyOf(cookie: string): string {
  return hashSecret(cookie).toString('hex')
}
