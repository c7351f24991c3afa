/**
 * The admin listener of a gateway, as its config describes it.
 *
 * @module
 */

import { asError, HookonceError } from '../../errors.ts'
import type { Logger } from '../../index.ts'
import type { Metrics } from '../../metrics/index.ts'
import type { Readiness } from '../../http/readiness.ts'
import type { BuiltInbox } from '../build-inbox.ts'
import type { ResolvedConfig } from '../config/schema.ts'
import { mcpPage } from '../mcp/mcp-page.ts'
import { AdminServer } from './admin-server.ts'
import { healthPages } from './health.ts'
import { isLoopback } from './host-check.ts'
import { LiveStreams, livePage } from './live.ts'
import { loginPages } from './login.ts'
import { openApiPage } from './openapi.ts'
import type { Page } from './page.ts'
import type { Role } from './roles.ts'
import { send } from './send-answer.ts'
import { findToken } from './tokens.ts'

/** What it is built from, beside the config. */
export interface AdminTerms {
  /** What is in use now: a reload puts another in its place. */
  readonly built: () => BuiltInbox
  readonly readiness: () => Readiness
  readonly metrics: Pick<Metrics, 'contentType' | 'render'>
  readonly logger: Logger
  /** What a model may do over MCP on this machine without a token. */
  readonly mcpRoleWithoutToken: Role
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
export function buildAdmin(
  config: ResolvedConfig,
  { built, readiness, metrics, logger, mcpRoleWithoutToken }: AdminTerms,
): BuiltAdmin {
  const { host, port, token, hosts } = config.admin
  requireToken(config)
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
  const live = new LiveStreams((query) => built().inbox.admin.list(query))
  server.add([
    ...healthPages(readiness),
    openApiPage,
    ...loginPages(access),
    livePage(live, (principal) => access.isStillKnown(principal)),
    metricsPage(metrics),
    mcpPage({
      ...answering,
      roleWithoutToken: mcpRoleWithoutToken,
      onError: (error) =>
        logger.error({ path: '/mcp', error: asError(error).message }, 'admin.failed'),
    }),
  ])
  return { server, live }
}

/** For Prometheus, with the token of a viewer where there are tokens. */
function metricsPage(metrics: AdminTerms['metrics']): Page {
  return {
    method: 'GET',
    path: '/metrics',
    role: 'viewer',
    answer: async ({ response }) => {
      send(response, 200, { 'content-type': metrics.contentType }, await metrics.render())
    },
  }
}

function requireToken(config: ResolvedConfig): void {
  const [problem] = findTokenProblem(config)
  if (problem === undefined) return
  throw new HookonceError('CONFIG_INVALID', `The config cannot be used:\n  - ${problem}`)
}

/** Why other machines could use the listener without a token. */
export function findTokenProblem({ admin, roles }: ResolvedConfig): readonly string[] {
  const { host, token } = admin
  if (token !== undefined || isLoopback(host) || !roles.includes('admin')) return []
  return [
    `admin.token: it is missing, and admin.host ${host} can be reached from other machines. Set admin.token, such as env:HOOKONCE_ADMIN_TOKEN, or admin.host to 127.0.0.1`,
  ]
}
