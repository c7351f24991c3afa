import type { IncomingMessage, ServerResponse } from 'node:http'
import { writeProblem } from './problem.ts'
import type { Problem } from './problem.ts'

/** On every answer: it is for the one who asked, is what it says it is, and is shown by no other site. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export function sendJson(
  response: ServerResponse,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  send(response, 200, { 'content-type': 'application/json', ...headers }, JSON.stringify(value))
}

/** Bytes of a stranger: they are saved, and never shown. */
export function sendBytes(response: ServerResponse, bytes: Uint8Array): void {
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment',
  }
  send(response, 200, headers, bytes)
}

export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const headers = {
    'content-type': 'application/problem+json',
    ...problem.headers,
    // A body that is not wanted is not read: Node would read it all to keep the connection.
    ...(!request.complete && { connection: 'close' }),
  }
  send(response, problem.status, headers, JSON.stringify(writeProblem(problem)))
}

/** With what every answer says. */
export function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { ...SAFE_HEADERS, ...headers, 'content-length': length }).end(body)
}
