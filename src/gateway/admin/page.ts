import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from './access.ts'
import type { Role } from './roles.ts'

/** Something that is answered in its own way, behind the same checks. */
export interface Page {
  readonly method: 'GET' | 'HEAD' | 'POST'
  /** The whole path. */
  readonly path: string
  /** The least that is needed; `undefined` for what needs no token. */
  readonly role: Role | undefined
  answer(asked: Asked): Promise<void> | void
}

/** A request that has passed the checks. */
export interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
  /** `undefined` for a page that needs no token. */
  readonly principal: Principal | undefined
}
