/**
 * `hookonce/hono`: Hono, on any runtime.
 *
 * @module
 */

import { mountSource } from '../acknowledge-read.ts'
import { headersFromRaw } from '../delivery-headers.ts'
import { answerFetch } from '../fetch.ts'
import type { FetchMount } from '../fetch.ts'
import type { ReceivingInbox } from '../receiving-inbox.ts'

/** The part of Hono's context that is used. */
export interface HonoContextLike {
  readonly req: {
    readonly raw: Request
    /** What `c.req.arrayBuffer()`, `text()` and the like have read, by their names. */
    readonly bodyCache?: { readonly arrayBuffer?: unknown }
  }
  readonly env?: unknown
}

/** A handler for a route of Hono. */
export type HonoHandler = (context: HonoContextLike) => Promise<Response>

/**
 * A handler for one source:
 *
 * ```ts
 * app.post('/webhooks/stripe', honoHandler(inbox, 'stripe'))
 * ```
 *
 * A middleware that reads the body before it must do so with `c.req.arrayBuffer()`, which keeps the
 * bytes. On `@hono/node-server` headers that came twice are seen as two, as with `hookonce/node`.
 *
 * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
 */
export function honoHandler(inbox: ReceivingInbox, sourceName: string): HonoHandler {
  const mount: FetchMount = { ...mountSource(inbox, sourceName), hint: HONO_HINT }
  return async (context) => {
    const rawHeaders = findRawHeaders(context.env)
    return answerFetch(mount, context.req.raw, {
      keptBytes: await findKeptBytes(context),
      headers: rawHeaders === undefined ? undefined : headersFromRaw(rawHeaders),
    })
  }
}

/** Hono keeps promises of what was read. Of its kinds only this one is sure to be the bytes as they came. */
async function findKeptBytes({ req }: HonoContextLike): Promise<Uint8Array | undefined> {
  try {
    const kept = await req.bodyCache?.arrayBuffer
    return kept instanceof ArrayBuffer ? new Uint8Array(kept) : undefined
  } catch {
    return undefined
  }
}

/** `@hono/node-server` puts Node's own request into the bindings. */
function findRawHeaders(env: unknown): readonly string[] | undefined {
  const incoming = (env as { incoming?: { rawHeaders?: unknown } } | null | undefined)?.incoming
  return Array.isArray(incoming?.rawHeaders)
    ? (incoming.rawHeaders as readonly string[])
    : undefined
}

const HONO_HINT =
  'A middleware read the body with c.req.json(), text(), formData() or the like before Hookonce could see its bytes. ' +
  'Mount the route above the middleware, or let the middleware read c.req.arrayBuffer(), which keeps the bytes.'
