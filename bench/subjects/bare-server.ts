/**
 * What every server of W1 does before it comes to a database, written as plainly as Node allows: read
 * the body, check Stripe's signature, parse the JSON. With nothing behind it, it is the ceiling.
 *
 * @module
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { STRIPE_SECRET } from '../load/signed-requests.ts'
import type { Usage } from '../harness/child.ts'
import { hear, say } from './subject.ts'

export interface VerifiedRequest {
  readonly id: string
  readonly type: string
  readonly body: Buffer
  readonly headers: IncomingMessage['headers']
}

/** Serves until the parent says `stop`. `store` resolves when the request may be answered 200. */
export async function serveBare(
  store: (request: VerifiedRequest) => Promise<void> | undefined,
  count?: () => Usage['counts'],
): Promise<void> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      if (!isSigned(request.headers['stripe-signature'], body))
        return answer(response, 401, 'refused')
      const { id, type } = JSON.parse(body.toString('utf8')) as { id: string; type: string }
      const stored = store({ id, type, body, headers: request.headers })
      if (stored === undefined) return answer(response, 200, id)
      stored.then(
        () => answer(response, 200, id),
        () => answer(response, 503, 'unavailable'),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  say({ kind: 'listening', port: (server.address() as AddressInfo).port })
  await hear('stop', count)
  server.close()
  server.closeAllConnections()
}

function isSigned(header: string | string[] | undefined, body: Buffer): boolean {
  if (typeof header !== 'string') return false
  const match = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header)
  if (match === null) return false
  const expected = createHmac('sha256', STRIPE_SECRET).update(`${match[1]!}.`).update(body).digest()
  return timingSafeEqual(expected, Buffer.from(match[2]!, 'hex'))
}

function answer(response: ServerResponse, status: number, event: string): void {
  const body = JSON.stringify({ status: status === 200 ? 'accepted' : 'refused', event })
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
}
