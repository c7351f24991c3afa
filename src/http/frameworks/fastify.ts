/**
 * `hookonce/fastify`: Fastify 5.
 *
 * @module
 */

import { mountSource } from '../acknowledge-read.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerNode } from '../answer-node.ts'
import type { NodeMount } from '../answer-node.ts'
import { parsedBy } from '../parsed-by.ts'
import type { ReceivingInbox } from '../receiving-inbox.ts'

/** The part of a Fastify request that is used. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage
  readonly body?: unknown
}

/** The part of a Fastify reply that is used. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse
  hijack(): unknown
}

/** The part of a Fastify instance that is used. */
export interface FastifyLike {
  route(options: FastifyRouteLike): unknown
}

/** The part of a Fastify route that is used. */
export interface FastifyRouteLike {
  readonly method: string[]
  readonly url: string
  preParsing(request: FastifyRequestLike, reply: FastifyReplyLike): Promise<void>
  handler(request: FastifyRequestLike, reply: FastifyReplyLike): Promise<void>
}

/** A Fastify plugin: hand it to `app.register` with the `prefix` it shall answer at. */
export type FastifyPlugin = (instance: FastifyLike, options: object, done: () => void) => void

/**
 * A plugin with the route of one source:
 *
 * ```ts
 * app.register(fastifyPlugin(inbox, 'stripe'), { prefix: '/webhooks/stripe' })
 * ```
 *
 * It answers before Fastify looks for a content type parser. A parser of its own, even for `*`, would
 * leave one hole: Fastify refuses a content type it cannot read with 415, and a signed delivery would
 * be lost over a header that is not signed. The order of registration does not matter.
 *
 * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
 */
export function fastifyPlugin(inbox: ReceivingInbox, sourceName: string): FastifyPlugin {
  const answer = fastifyHandler(inbox, sourceName)
  return (instance, _options, done) => {
    const method = [...inbox.requireSource(sourceName).methods]
    instance.route({ method, url: '', preParsing: answer, handler: answer })
    done()
  }
}

/**
 * A route handler for one source, for routes you declare yourself. Fastify has parsed the body by the
 * time a handler runs, so this one needs a parser that keeps the bytes; `fastifyPlugin` does not.
 *
 * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
 */
export function fastifyHandler(
  inbox: ReceivingInbox,
  sourceName: string,
): (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<void> {
  const mount: NodeMount = { ...mountSource(inbox, sourceName), hint: fastifyHint }
  return (request, reply) => answerFastify(mount, request, reply)
}

/**
 * The answer is written to Node's response, so Fastify must know that it is not its own to send.
 *
 * @internal
 */
export async function answerFastify(
  mount: NodeMount,
  request: FastifyRequestLike & { readonly rawBody?: unknown },
  reply: FastifyReplyLike,
): Promise<void> {
  reply.hijack()
  const parsed = { headers: request.raw.headers, body: request.body, rawBody: request.rawBody }
  await answerNode(mount, request.raw, reply.raw, parsed)
}

const PARSERS = {
  json: "Fastify's JSON parser",
  form: 'A form parser such as @fastify/formbody',
  text: "Fastify's text parser",
  other: 'A content type parser or hook',
}

const fastifyHint: NodeMount['hint'] = (parsed, sourceName) =>
  `${parsedBy(PARSERS, parsed)}. Register the plugin, which answers before any parser runs: ` +
  `app.register(fastifyPlugin(inbox, '${sourceName}'), { prefix: '/webhooks/${sourceName}' }). ` +
  `Or keep the bytes: app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => done(null, body)).`
