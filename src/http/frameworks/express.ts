/**
 * `hookonce/express`: Express 4 and 5.
 *
 * @module
 */

import { mountSource } from '../acknowledge-read.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerNode } from '../answer-node.ts'
import type { NodeMount } from '../answer-node.ts'
import { parsedBy } from '../parsed-by.ts'
import type { ReceivingInbox } from '../receiving-inbox.ts'

/** An Express request handler. It always answers and never calls `next`. */
export type ExpressHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A request handler for one source. Mount it above `app.use(express.json())`:
 *
 * ```ts
 * app.post('/webhooks/stripe', expressHandler(inbox, 'stripe'))
 * app.use(express.json())
 * ```
 *
 * Below a parser it works where the parser keeps the bytes: `express.raw({ type: () => true })` on
 * the route, or `express.json({ verify: (req, res, buffer) => { req.rawBody = buffer } })`.
 *
 * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
 */
export function expressHandler(inbox: ReceivingInbox, sourceName: string): ExpressHandler {
  const mount: NodeMount = { ...mountSource(inbox, sourceName), hint: expressHint }
  return (request, response) => void answerNode(mount, request, response)
}

const PARSERS = {
  json: 'express.json() (or bodyParser.json())',
  form: 'express.urlencoded() (or bodyParser.urlencoded())',
  text: 'express.text() (or bodyParser.text())',
  other: 'A middleware',
}

const expressHint: NodeMount['hint'] = (parsed, sourceName) =>
  `${parsedBy(PARSERS, parsed)}. Mount the route above the parser: ` +
  `app.post('/webhooks/${sourceName}', expressHandler(inbox, '${sourceName}')) first, app.use(express.json()) after it. ` +
  `Or let the parser keep the bytes: express.json({ verify: (req, res, buffer) => { req.rawBody = buffer } }).`
