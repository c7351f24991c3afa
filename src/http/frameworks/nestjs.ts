/**
 * `hookonce/nestjs`: NestJS on Express and on Fastify.
 *
 * @module
 */

import { mountSource } from '../acknowledge-read.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerNode } from '../answer-node.ts'
import type { NodeMount } from '../answer-node.ts'
import { answerFastify } from './fastify.ts'
import type { FastifyReplyLike, FastifyRequestLike } from './fastify.ts'
import { parsedBy } from '../parsed-by.ts'
import type { ReceivingInbox } from '../receiving-inbox.ts'

/** What `@Req()` gives: a request of Express, or of Fastify. A middleware gets Node's on both. */
export type NestRequest = IncomingMessage | FastifyRequestLike
/** What `@Res()` gives. */
export type NestResponse = ServerResponse | FastifyReplyLike

/** Answers one request, as a functional middleware or from a controller's method. */
export type NestHandler = (request: NestRequest, response: NestResponse) => Promise<void>

/**
 * A handler for one source, to be used as a functional middleware:
 *
 * ```ts
 * consumer
 *   .apply(nestHandler(inbox, 'stripe'))
 *   .forRoutes({ path: 'webhooks/stripe', method: RequestMethod.POST })
 * ```
 *
 * or called with `@Req()` and `@Res()` of a controller. On Express the application needs
 * `NestFactory.create(AppModule, { rawBody: true })`, because Nest's global parsers run first. On
 * Fastify the middleware runs before the parsers and needs nothing.
 *
 * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
 */
export function nestHandler(inbox: ReceivingInbox, sourceName: string): NestHandler {
  const mount: NodeMount = { ...mountSource(inbox, sourceName), hint: nestHint }
  return (request, response) => {
    if (isFastify(request) && isFastifyReply(response))
      return answerFastify(mount, request, response)
    return answerNode(mount, request as IncomingMessage, response as ServerResponse)
  }
}

function isFastify(request: NestRequest): request is FastifyRequestLike {
  return 'raw' in request
}

function isFastifyReply(response: NestResponse): response is FastifyReplyLike {
  return 'hijack' in response
}

const PARSERS = {
  json: "Nest's global JSON parser",
  form: "Nest's global form parser",
  text: 'A text parser',
  other: "Nest's global parser or a middleware",
}

const nestHint: NodeMount['hint'] = (parsed) =>
  `${parsedBy(PARSERS, parsed)}. Let Nest keep the bytes: NestFactory.create(AppModule, { rawBody: true }), ` +
  `or turn its parsers off: { bodyParser: false }.`
