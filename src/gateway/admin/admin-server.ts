/**
 * The admin listener: what an operator can do, over HTTP, on a socket that no sender reaches.
 *
 *     request ─▶ host ─▶ route ─▶ who ─▶ role ─▶ no other site ─▶ query and body ─▶ operator ─▶ answer
 *                421    404 405   401    403       403 415          400 413                   200 404 409
 *
 * What it promises:
 *
 * - Nothing is done for a request that any of the checks refuses; they stand in one place, before every route.
 * - An action that the operator refuses is an answer: 409, or 422 for want of a payload, with why and what to do instead.
 * - It holds no more than its limits: bodies, headers, connections and times are bounded.
 *
 * @module
 */

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { asError } from '../../errors.ts'
import type { Logger } from '../../index.ts'
import { endUnread } from '../../http/end-unread.ts'
import { Access } from './access.ts'
import type { AccessOptions, Principal } from './access.ts'
import { answerRoute, BODY_TIMEOUT_MS } from './answer-route.ts'
import type { AnswerTerms } from './answer-route.ts'
import { createHostCheck } from './host-check.ts'
import type { Asked, Page } from './page.ts'
import { problemOfError, refuseRequest } from './problem.ts'
import type { Problem } from './problem.ts'
import { isEnough } from './roles.ts'
import type { Role } from './roles.ts'
import { matchRoutes } from './routes.ts'
import { endWithProblem, sendProblem } from './send-answer.ts'
import { hasRequestToken } from './sessions.ts'

/** What an admin server is made of. */
export interface AdminServerOptions extends AnswerTerms, Pick<AccessOptions, 'findToken'> {
  readonly host: string
  readonly port: number
  readonly token: string | undefined
  /** More names that it is reached by. */
  readonly hosts: readonly string[]
  /** What is answered beside the routes: metrics, a dashboard. */
  readonly pages?: readonly Page[]
  readonly logger: Logger
  /** @defaultValue Date.now */
  readonly now?: () => number
  /**
   * How long a client may leave an answer unread.
   *
   * @defaultValue 30_000
   */
  readonly unreadMs?: number
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
const HEADER_BYTES_MAX = 16_384
const CONNECTIONS_MAX = 256
/** The header in which a page that logged in proves that it is that page. */
const REQUEST_TOKEN_HEADER = 'x-hookonce-request-token'

export class AdminServer {
  readonly server: Server
  readonly access: Access
  readonly #options: AdminServerOptions
  readonly #checkHost: (request: IncomingMessage) => Problem | undefined
  #pages: readonly Page[]

  constructor(options: AdminServerOptions) {
    const { host, hosts, token, findToken, now = Date.now, pages = [] } = options
    this.#options = options
    this.#pages = pages
    this.#checkHost = createHostCheck(host, hosts)
    const onExceeded = (address: string): void =>
      options.logger.warn({ address }, 'admin.locked-out')
    this.access = new Access({ token, findToken, now, onExceeded })
    this.server = createServer({
      insecureHTTPParser: false,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      // Ours says which names there are.
      requireHostHeader: false,
    })
    this.server.maxConnections = CONNECTIONS_MAX
    // An accept that fails, for want of file descriptors say, is over when it is over.
    this.server.on('error', () => undefined)
    this.server.on('request', (request, response) => void this.#answer(request, response))
    this.server.on('checkExpectation', (request, response) =>
      sendProblem(request, response, refuseRequest(417, 'Leave the header `Expect` out.')),
    )
    this.server.on('clientError', refuseBytes)
    endUnread(this.server, options.unreadMs ?? BODY_TIMEOUT_MS)
  }

  /** Hangs in what is answered beside the routes. */
  add(pages: readonly Page[]): void {
    this.#pages = [...this.#pages, ...pages]
  }

  /** Rejects with Node's error when it cannot. */
  async listen(): Promise<void> {
    const { host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject)
        resolve()
      })
    })
  }

  get address(): AddressInfo | undefined {
    return (this.server.address() ?? undefined) as AddressInfo | undefined
  }

  /** Takes no more requests; those that are being answered have so long. */
  async stop(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.server.closeIdleConnections()
    const timer = setTimeout(() => this.server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(timer)
  }

  /** Nothing may throw out of a request listener: it would end the process. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined)
    try {
      const problem = await this.#answerOrRefuse(request, response)
      if (problem !== undefined) sendProblem(request, response, problem)
    } catch (error) {
      const problem = problemOfError(error)
      if (problem.status >= 500) {
        const fields = { path: pathOf(request), error: asError(error).message }
        this.#options.logger.error(fields, 'admin.failed')
      }
      sendProblem(request, response, problem)
    }
  }

  async #answerOrRefuse(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Problem | undefined> {
    const misdirected = this.#checkHost(request)
    if (misdirected !== undefined) return misdirected
    const found = this.#find(request)
    if ('status' in found) return found
    const principal = found.role === undefined ? undefined : await this.access.identify(request)
    if (principal !== undefined && 'status' in principal) return principal
    const refused = refuseFor(request, principal, found.role)
    if (refused !== undefined) return refused
    const url = new URL(request.url ?? '/', 'http://admin')
    return found.answer({ request, response, url, principal })
  }

  #find(request: IncomingMessage): Found | Problem {
    const path = pathOf(request)
    const pages = this.#pages.filter((page) => page.path === path)
    const matched = matchRoutes(path)
    const page = pages.find(({ method }) => method === request.method)
    if (page !== undefined) return { role: page.role, answer: (asked) => answerPage(page, asked) }
    const match = matched.find(({ route }) => route.method === request.method)
    if (match !== undefined)
      return {
        role: match.route.role,
        answer: (asked) => answerRoute(this.#options, match, asked),
      }
    const methods = [...pages, ...matched.map(({ route }) => route)].map(({ method }) => method)
    if (methods.length === 0)
      return refuseRequest(404, 'There is no such path. `/api/openapi.json` has those there are.')
    return refuseRequest(405, `This path is for ${methods.join(', ')}.`, {
      allow: methods.join(', '),
    })
  }
}

/** What Node cannot read as a request, or waits for in vain. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, detail] = UNREADABLE[error.code ?? ''] ?? [400, 'This is no request of HTTP.']
  endWithProblem(socket, refuseRequest(status, detail))
}

const UNREADABLE: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, `The headers of a request have at most ${HEADER_BYTES_MAX} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to come.'],
}

interface Found {
  readonly role: Role | undefined
  readonly answer: (asked: Asked) => Promise<Problem | undefined>
}

async function answerPage(page: Page, asked: Asked): Promise<undefined> {
  await page.answer(asked)
}

/** What a known one must not do, or not in this way. */
function refuseFor(
  { method, headers }: IncomingMessage,
  principal: Principal | undefined,
  needed: Role | undefined,
): Problem | undefined {
  if (needed !== undefined && principal !== undefined && !isEnough(principal.role, needed))
    return {
      status: 403,
      code: 'ROLE_TOO_LOW',
      detail: `This needs the role ${needed}, and the token has the role ${principal.role}.`,
    }
  if (method !== 'POST') return undefined
  // A form of another site can send neither this type nor a header of its own.
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? ''))
    return refuseRequest(415, 'Send JSON, with `content-type: application/json`.')
  const session = principal?.session
  if (session !== undefined && !hasRequestToken(session, headers[REQUEST_TOKEN_HEADER]))
    return refuseRequest(
      403,
      `A session says its request token in \`${REQUEST_TOKEN_HEADER}\`. \`GET /api/v1/session\` has it.`,
    )
  return undefined
}

/** Up to the query, exactly as it came. */
function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}
