/**
 * `hookonce/node`: plain `node:http`, and whatever hands out its requests and responses.
 *
 * @module
 */

import { mountSource } from './acknowledge-read.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerNode } from './answer-node.ts'
import type { NodeMount } from './answer-node.ts'
import { parsedBy } from './parsed-by.ts'
import type { ReceivingInbox } from './receiving-inbox.ts'

export { createReceiver, Receiver } from './receiver.ts'
export type { DrainOptions, ListenOptions, ReceiverOptions } from './receiver-options.ts'
export type { ReceivingInbox } from './receiving-inbox.ts'

/** Answers one request. Nothing it does can throw or reject. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A request listener for one source.
 *
 * It reads the body itself, so nothing may read it before. Where something did and kept the bytes as
 * a Buffer in `rawBody` or `body`, those are used; where they are lost the answer is 500, and the log
 * says what to change.
 *
 * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
 */
export function nodeHandler(inbox: ReceivingInbox, sourceName: string): NodeHandler {
  const mount: NodeMount = { ...mountSource(inbox, sourceName), hint: nodeHint }
  return (request, response) => void answerNode(mount, request, response)
}

const PARSERS = {
  json: 'A JSON parser',
  form: 'A form parser',
  text: 'A text parser',
  other: 'Something',
}

const nodeHint: NodeMount['hint'] = (parsed) =>
  `${parsedBy(PARSERS, parsed)}. Hand the request to Hookonce before anything else reads it or calls setEncoding() on it, ` +
  `or keep the bytes as a Buffer in request.rawBody.`
