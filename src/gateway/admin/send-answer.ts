import { STATUS_CODES } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { writeProblem } from './problem.ts'
import type { Problem } from './problem.ts'

/** On every answer: it is for the client that asked, is what it says it is, and is shown by no other site. */
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

/** For what is no request: there is nothing to answer but the connection, which ends with it. */
export function endWithProblem(socket: Duplex, problem: Problem): void {
  const body = JSON.stringify(writeProblem(problem))
  const headers = {
    ...SAFE_HEADERS,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const title = STATUS_CODES[problem.status] ?? 'Error'
  socket.end(`HTTP/1.1 ${problem.status} ${title}\r\n${head.join('')}\r\n${body}`)
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
