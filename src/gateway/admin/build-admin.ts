/**
 * The admin listener of a gateway, as its config describes it.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { Logger } from '../../index.ts'
import type { BuiltInbox } from '../build-inbox.ts'
import type { ResolvedConfig } from '../config/schema.ts'
import { AdminServer } from './admin-server.ts'
import { isLoopback } from './host-guard.ts'
import { LiveStreams, livePage } from './live.ts'
import { loginPages } from './login.ts'
import { openApiPage } from './openapi.ts'
import { findToken } from './tokens.ts'

/** What it is built from, beside the config. */
export interface AdminTerms {
  /** What is in use now: a reload puts another in its place. */
  readonly built: () => BuiltInbox
  readonly logger: Logger
}

/** The listener, and what it tells of as it happens. */
export interface BuiltAdmin {
  readonly server: AdminServer
  readonly live: LiveStreams
}

/**
 * Does not listen yet.
 *
 * @throws HookonceError CONFIG_INVALID for one that other machines could use without a token
 */
export function buildAdmin(config: ResolvedConfig, { built, logger }: AdminTerms): BuiltAdmin {
  const { host, port, token, hosts } = config.admin
  requireToken(host, token)
  const server = new AdminServer({
    host,
    port,
    token,
    hosts,
    payloadBytesMax: config.receive.bodyBytesMax,
    operator: () => built().inbox.admin,
    findToken: (hash) => findToken(built().store.tokens, hash),
    logger,
  })
  const { access } = server
  const isKnown = async (hash: Uint8Array): Promise<boolean> =>
    (await access.findByHash(hash)) !== undefined
  const live = new LiveStreams()
  server.add([openApiPage, ...loginPages(access, Date.now), livePage(live, isKnown)])
  return { server, live }
}

function requireToken(host: string, token: string | undefined): void {
  if (token !== undefined || isLoopback(host)) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `The config cannot be used:\n  - admin.token: it is missing, and admin.host ${host} can be reached from other machines. Set admin.token, such as env:HOOKONCE_ADMIN_TOKEN, or admin.host to 127.0.0.1`,
  )
}
