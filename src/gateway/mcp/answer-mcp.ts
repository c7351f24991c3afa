/**
 * MCP over Streamable HTTP, without sessions: each request is answered by a server of its own, in one piece.
 *
 *     request ─▶ host, who, role, JSON (admin-server.ts) ─▶ body, bounded ─▶ one message ─▶ SDK ─▶ tool ─▶ answer
 *                421 401 403 415                             413 408          400
 *
 * Clients of the revision 2026-07-28 and those of 2025 are served alike.
 *
 * @module
 */

import { createMcpHandler } from '@modelcontextprotocol/server'
import type { Principal } from '../admin/access.ts'
import { BODY_TIMEOUT_MS, bodyBytesMax, nameActor } from '../admin/answer-route.ts'
import type { Asked, Page } from '../admin/page.ts'
import { refuseRequest } from '../admin/problem.ts'
import { readText } from '../admin/read-given.ts'
import { isEnough } from '../admin/roles.ts'
import type { Role } from '../admin/roles.ts'
import { send, sendProblem } from '../admin/send-answer.ts'
import type { McpAnswerTerms } from './mcp-answer-terms.ts'
import { createMcpServer } from './mcp-server.ts'
import { createTools } from './tools.ts'

/** What stands behind the name of the token in the audit: that a model asked, and not the person. */
const MODEL = 'mcp'

export function createMcpAnswer(terms: McpAnswerTerms): Page['answer'] {
  const { operator, payloadBytesMax, roleWithoutToken, onError } = terms
  const tools = createTools()
  return async ({ request, response, principal }) => {
    const role = roleOf(principal, roleWithoutToken)
    // Only a replay has a body of its own, and only a client that may replay sends one.
    const takesPayload = isEnough(role, 'operator')
    const bytesMax = bodyBytesMax({ takesPayload }, payloadBytesMax)
    const text = await readText(request, { bytesMax, timeoutMs: BODY_TIMEOUT_MS })
    if (typeof text !== 'string') return sendProblem(request, response, text)
    if (isBatch(text)) return sendProblem(request, response, ONE_MESSAGE)
    let failure: unknown
    const { fetch } = createMcpHandler(
      () =>
        createMcpServer({
          tools,
          operator,
          role: async () => role,
          actor: nameActor(principal?.name, MODEL),
          onError,
        }),
      // A subscription would be a stream without an end, and nothing here changes what a client was told.
      { maxSubscriptions: 0, onerror: (error) => (failure = error) },
    )
    const answered = await fetch(requestFor(request, text))
    // What a client gets wrong is told to the client, and is nothing for the log.
    if (answered.status >= 500) onError(failure)
    await pass(answered, response)
  }
}

/** A token says what it may. Without one it is for the gateway to say. */
function roleOf(principal: Principal | undefined, roleWithoutToken: Role): Role {
  return principal?.tokenHash === undefined ? roleWithoutToken : principal.role
}

/** Revisions before 2025-06-18 had several messages in one request: two thousand calls at once in 256 kB. */
function isBatch(text: string): boolean {
  return /^\s*\[/.test(text)
}

const ONE_MESSAGE = refuseRequest(
  400,
  'A request has one message of JSON-RPC, and no list of them.',
)

/** With what the protocol looks at. No token and no cookie goes further than the checks. */
function requestFor({ headers }: Asked['request'], body: string): Request {
  const passed = Object.entries(headers).filter(
    ([name]) => name === 'accept' || name === 'content-type' || name.startsWith('mcp-'),
  )
  return new Request('http://admin/mcp', {
    method: 'POST',
    headers: passed.map(([name, value]): [string, string] => [name, String(value)]),
    body,
  })
}

/** Whole: without subscriptions, each answer has an end. */
async function pass(from: Response, response: Asked['response']): Promise<void> {
  const type = from.headers.get('content-type')
  const body = new Uint8Array(await from.arrayBuffer())
  send(response, from.status, type === null ? {} : { 'content-type': type }, body)
}
