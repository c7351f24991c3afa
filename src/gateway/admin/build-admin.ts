/**
 * The admin listener of a gateway, as its config describes it.
 *
 * @module
 */

import { asError, HookonceError } from '../../errors.ts'
import type { Logger } from '../../index.ts'
import { createMetrics } from '../../metrics/index.ts'
import type { Metrics } from '../../metrics/index.ts'
import type { BuiltInbox } from '../build-inbox.ts'
import type { ResolvedConfig } from '../config/schema.ts'
import { mcpPage } from '../mcp/mcp-page.ts'
import { AdminServer } from './admin-server.ts'
import { isLoopback } from './host-guard.ts'
import { LiveStreams, livePage } from './live.ts'
import { loginPages } from './login.ts'
import { openApiPage } from './openapi.ts'
import type { Page } from './page.ts'
import type { Role } from './roles.ts'
import { findToken } from './tokens.ts'

/** What it is built from, beside the config. */
export interface AdminTerms {
  /** What is in use now: a reload puts another in its place. */
  readonly built: () => BuiltInbox
  readonly logger: Logger
  /** What a model may do over MCP on this machine without a token. */
  readonly mcpRoleWithoutToken: Role
}

/** The listener, and what it tells of as it happens. */
export interface BuiltAdmin {
  readonly server: AdminServer
  readonly live: LiveStreams
  /** Tells and counts what happens in this inbox, in place of the one before. */
  watch(inbox: BuiltInbox['inbox']): void
}

/**
 * Does not listen yet.
 *
 * @throws HookonceError CONFIG_INVALID for one that other machines could use without a token
 */
export function buildAdmin(
  config: ResolvedConfig,
  { built, logger, mcpRoleWithoutToken }: AdminTerms,
): BuiltAdmin {
  const { host, port, token, hosts } = config.admin
  requireToken(host, token)
  const answering = {
    payloadBytesMax: config.receive.bodyBytesMax,
    operator: () => built().inbox.admin,
  }
  const server = new AdminServer({
    host,
    port,
    token,
    hosts,
    ...answering,
    findToken: (hash) => findToken(built().store.tokens, hash),
    logger,
  })
  const { access } = server
  const isKnown = async (hash: Uint8Array): Promise<boolean> =>
    (await access.findByHash(hash)) !== undefined
  const live = new LiveStreams()
  const metrics = createMetrics()
  server.add([
    openApiPage,
    ...loginPages(access, Date.now),
    livePage(live, isKnown),
    metricsPage(metrics),
    mcpPage({
      ...answering,
      roleWithoutToken: mcpRoleWithoutToken,
      onError: (error) =>
        logger.error({ path: '/mcp', error: asError(error).message }, 'admin.failed'),
    }),
  ])
  const watch = (inbox: BuiltInbox['inbox']): void => {
    live.watch(inbox.events)
    metrics.watch(inbox)
  }
  return { server, live, watch }
}

/** For Prometheus, with the token of a viewer where there are tokens. */
function metricsPage(metrics: Metrics): Page {
  return {
    method: 'GET',
    path: '/metrics',
    role: 'viewer',
    answer: async ({ response }) => {
      const text = await metrics.render()
      response.setHeader('content-type', metrics.contentType)
      response.end(text)
    },
  }
}

function requireToken(host: string, token: string | undefined): void {
  if (token !== undefined || isLoopback(host)) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `The config cannot be used:\n  - admin.token: it is missing, and admin.host ${host} can be reached from other machines. Set admin.token, such as env:HOOKONCE_ADMIN_TOKEN, or admin.host to 127.0.0.1`,
  )
}
