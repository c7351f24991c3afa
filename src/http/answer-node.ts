/**
 * One request of a Node server, from its stream to its answer. Every adapter on top of `node:http`
 * goes through here.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import { unavailable } from '../receive/acknowledge.ts'
import { acknowledgeRead, limitsOf } from './acknowledge-read.ts'
import type { BodyFound, Mount } from './acknowledge-read.ts'
import { headersFromRaw } from './delivery-headers.ts'
import { readNodeBody, takeKept } from './read-body.ts'

/** What a framework may have put on the request before us. */
export interface ParsedRequest {
  readonly headers: IncomingMessage['headers']
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** A source behind a route of one framework, which knows who parses bodies there. */
export interface NodeMount extends Mount {
  readonly hint: (parsed: ParsedRequest, sourceName: string) => string
}

/**
 * Answers one request. Never rejects.
 *
 * @param parsed - where the framework keeps the parsed body, if not on the request itself
 */
export async function answerNode(
  mount: NodeMount,
  request: IncomingMessage,
  response: ServerResponse,
  parsed: ParsedRequest = request,
): Promise<void> {
  let acknowledgement: Acknowledgement | undefined
  try {
    const found = await findBody(mount, request, parsed)
    acknowledgement = await acknowledgeRead(mount, found, (body) => deliver(request, body))
  } catch {
    // The inbox reports its own failures. Whatever it was, the sender must try again.
    acknowledgement = unavailable()
  }
  try {
    if (acknowledgement !== undefined) writeAnswer(response, acknowledgement)
  } catch {
    // Only a response that the application or a framework has broken gets here. The sender sees a lost
    // connection.
    response.destroy()
  }
}

/** Writes what the sender is told, once. */
export function writeAnswer(
  response: ServerResponse,
  { status, headers, body, close }: Acknowledgement,
): void {
  // A server that is shutting down, or a framework's own timeout, may have answered before us.
  if (response.headersSent || response.destroyed) return
  for (const name in headers) response.setHeader(name, headers[name] as string)
  // A 204 has no body, and a length beside it is an error (RFC 9110, section 8.6).
  if (status !== 204) response.setHeader('content-length', Buffer.byteLength(body))
  // HTTP/2 has no such header: a stream that is answered early is simply reset.
  if (close && response.req.httpVersionMajor < 2) {
    response.setHeader('connection', 'close')
    // Node closes the socket when the answer is out, and would read on until then: measured, another
    // 64 KiB. `receiver-limits.test.ts` counts them.
    response.req.socket.pause()
  }
  response.writeHead(status)
  response.end(body)
}

/**
 * The stream where it is untouched, else the bytes where a parser kept them.
 *
 * What counts is the stream and not `request.body`: the parsers of Express 4 leave an empty object
 * there for content types they do not touch.
 */
function findBody(
  mount: NodeMount,
  request: IncomingMessage,
  parsed: ParsedRequest,
): Promise<BodyFound> | BodyFound {
  if (isUntouched(request)) {
    return readNodeBody(request, request.headers['content-length'], limitsOf(mount))
  }
  const kept = findKeptBytes(parsed)
  if (kept !== undefined) return takeKept(kept, limitsOf(mount))
  return { status: 'parsed', hint: mount.hint(parsed, mount.sourceName) }
}

function isUntouched(request: IncomingMessage): boolean {
  // With an encoding set the stream gives strings, in which bytes that are not UTF-8 are lost.
  return !request.readableDidRead && !request.readableEnded && request.readableEncoding === null
}

function findKeptBytes({ rawBody, body }: ParsedRequest): Uint8Array | undefined {
  if (rawBody instanceof Uint8Array) return rawBody
  if (body instanceof Uint8Array) return body
  return undefined
}

function deliver(
  request: IncomingMessage & { readonly originalUrl?: string },
  body: Uint8Array,
): Delivery {
  return {
    method: request.method ?? '',
    // Express takes the mount path off `url` and keeps the whole in `originalUrl`.
    url: request.originalUrl ?? request.url ?? '',
    headers: headersFromRaw(request.rawHeaders),
    body,
    receivedAt: new Date(),
  }
}
