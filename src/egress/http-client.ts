/**
 * What speaks HTTP for `egress.ts`. There are two: Node's own (`node-client.ts`), and undici in the gateway, whose
 * file takes it in (`gateway/undici-client.ts`).
 *
 * A client connects to nothing but what its check lets through, follows no redirect, decodes nothing, and sends a
 * request once. Deadlines, and how much of an answer is read, are not its business.
 *
 * @module
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { ConnectionCheck } from './connection-check.ts'

export type CreateHttpClient = (check: ConnectionCheck) => HttpClient

export interface HttpClient {
  /**
   * Sends a request, and tells the listener of it: while it is called, or later.
   *
   * @returns what gives the request up, and closes its connection
   * @throws for a request that cannot be sent, such as one with a line break in a header
   */
  send(request: ClientRequest, listener: ExchangeListener): () => void
  /** Closes idle connections, and those in use. */
  close(): void
}

export interface ClientRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface ExchangeListener {
  /** The request has a connection, over TLS one whose certificate holds: from now on it may have arrived. */
  onConnected(): void
  /** The head of the answer, not of one that only announces it (1xx). */
  onHead(status: number, headers: IncomingHttpHeaders): void
  onData(chunk: Uint8Array): void
  onEnd(): void
  onError(error: Error): void
}
