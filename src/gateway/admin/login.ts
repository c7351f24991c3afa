/**
 * Sessions of browsers: a token is said once, and a cookie stands for it from then on.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { cookieOf, COOKIE, denied } from './access.ts'
import type { Access } from './access.ts'
import type { AttemptLimit } from './attempt-limit.ts'
import type { Asked, Page } from './page.ts'
import type { Problem } from './problem.ts'
import { readBody, readText } from './read-given.ts'
import { sendJson, sendProblem } from './send-answer.ts'
import { SESSION_MS } from './sessions.ts'

const login = z.strictObject({ token: z.string().min(1).max(500) })
const READ = { bytesMax: 4_096, timeoutMs: 10_000 }

/** `POST /api/v1/login`, `POST /api/v1/logout` and `GET /api/v1/session`. */
export function loginPages(access: Access): readonly Page[] {
  const limit = access.limitAttempts()
  return [
    {
      method: 'POST',
      path: '/api/v1/login',
      role: undefined,
      answer: async (asked) => {
        const problem = await logIn(access, limit, asked)
        if (problem !== undefined) sendProblem(asked.request, asked.response, problem)
      },
    },
    {
      method: 'POST',
      path: '/api/v1/logout',
      role: 'viewer',
      answer: ({ request, response }) => {
        const cookie = cookieOf(request.headers.cookie)
        if (cookie !== undefined) access.sessions.end(cookie)
        sendJson(response, { status: 'done' }, { 'set-cookie': writeCookie(request, '', 0) })
      },
    },
    {
      method: 'GET',
      path: '/api/v1/session',
      role: 'viewer',
      answer: ({ response, principal }) => {
        const requestToken = principal?.session?.requestToken ?? null
        sendJson(response, { name: principal?.name ?? null, role: principal?.role, requestToken })
      },
    },
  ]
}

async function logIn(
  access: Access,
  limit: AttemptLimit,
  { request, response }: Asked,
): Promise<Problem | undefined> {
  const text = await readText(request, READ)
  if (typeof text !== 'string') return text
  const { token } = readBody(login, text) as z.output<typeof login>
  const address = request.socket.remoteAddress ?? ''
  const principal = await access.tryToken(token, { address, limit })
  if ('status' in principal) return principal
  if (principal.tokenHash === undefined) return denied('token')
  const { cookie, requestToken } = access.sessions.begin(principal.tokenHash)
  const { name = null, role } = principal
  const headers = { 'set-cookie': writeCookie(request, cookie, SESSION_MS / 1_000) }
  sendJson(response, { name, role, requestToken }, headers)
  return undefined
}

/** No script reads it, and no other site has it sent. */
function writeCookie({ headers }: IncomingMessage, value: string, seconds: number): string {
  const isSecure = headers['x-forwarded-proto'] === 'https'
  return `${COOKIE}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}
