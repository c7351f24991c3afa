/**
 * `Request` in, `Response` out: Next.js route handlers, SvelteKit, Hono, Bun, Deno, Workers.
 *
 * A `Request` has already joined headers that came more than once; see `delivery-headers.ts` for
 * what that means and how it is kept safe. Where Node's own request is at hand, `hookonce/node` sees
 * them apart.
 *
 * @module
 */

import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { DeliveryHeaders } from '../model/delivery.ts'
import { unavailable } from '../receive/acknowledge.ts'
import { acknowledgeRead, limitsOf, mountSource } from './acknowledge-read.ts'
import type { BodyFound, Mount } from './acknowledge-read.ts'
import { headersFromFetch } from './delivery-headers.ts'
import { readWebBody, takeKept } from './read-body.ts'
import type { ReceivingInbox } from './receiving-inbox.ts'

export type FetchHandler = (request: Request) => Promise<Response>

/**
 * A handler for one source. It reads the body itself, so nothing may have called `request.json()`,
 * `text()` or the like before it; a `clone()` may have been read.
 *
 * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
 */
export function fetchHandler(inbox: ReceivingInbox, sourceName: string): FetchHandler {
  const mount: FetchMount = { ...mountSource(inbox, sourceName), hint: FETCH_HINT }
  return (request) => answerFetch(mount, request)
}

export interface FetchMount extends Mount {
  readonly hint: string
}

/** What the surroundings of a request may know better than the request. */
export interface FetchExtras {
  /** The bytes, where a framework has read and kept them. */
  readonly keptBytes?: Uint8Array | undefined
  readonly headers?: DeliveryHeaders | undefined
}

/** Answers one request. Never rejects. */
export async function answerFetch(
  mount: FetchMount,
  request: Request,
  extras: FetchExtras = {},
): Promise<Response> {
  return toResponse(await acknowledge(mount, request, extras))
}

async function acknowledge(
  mount: FetchMount,
  request: Request,
  { keptBytes, headers }: FetchExtras,
): Promise<Acknowledgement> {
  try {
    const found = await findBody(mount, request, keptBytes)
    const acknowledgement = await acknowledgeRead(mount, found, (body) => ({
      method: request.method,
      url: request.url,
      headers: headers ?? headersFromFetch(request.headers),
      body,
      receivedAt: new Date(),
    }))
    // A response must be given even when the sender has gone. If the stream broke on our side of the
    // connection after all, a 503 makes the sender try again.
    return acknowledgement ?? unavailable()
  } catch {
    // The inbox reports its own failures. Whatever it was, the sender must try again.
    return unavailable()
  }
}

function findBody(
  mount: FetchMount,
  request: Request,
  keptBytes: Uint8Array | undefined,
): Promise<BodyFound> | BodyFound {
  if (keptBytes !== undefined) return takeKept(keptBytes, limitsOf(mount))
  if (request.bodyUsed || request.body?.locked === true)
    return { status: 'parsed', hint: mount.hint }
  const declaredLength = request.headers.get('content-length') ?? undefined
  return readWebBody(request.body, declaredLength, limitsOf(mount))
}

/** The runtime writes the length, which it knows. */
function toResponse({ status, headers, body, close }: Acknowledgement): Response {
  return new Response(body === '' ? null : body, {
    status,
    headers: close ? { ...headers, connection: 'close' } : headers,
  })
}

const FETCH_HINT =
  'Something read the body before Hookonce could see its bytes: request.json(), text(), formData() or another reader. ' +
  'Hand the request over unread, or read request.clone() instead.'
