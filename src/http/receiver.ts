/**
 * A server that receives for every source of an inbox: `POST /in/<source>` (and GET or HEAD where a
 * sender's handshake needs it), and nothing else but `/healthz` and `/readyz`.
 *
 * What it promises:
 *
 * - A path is compared as it came, undecoded: no spelling of a path reaches a source but its own.
 * - No sender holds a socket for long: headers, body, the reading of answers and idle time each have their limit, and
 *   whatever is not read to its end closes its connection.
 * - A drain loses no answer: what is in flight finishes, or is told 503 so that its sender tries again. With `idleMs` it
 *   also closes no connection that a client may be sending on: each is closed together with its next answer.
 *
 * @module
 */

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TcpServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { atMost } from '../flow/at-most.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../options/require-integer.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import { unavailable, unknownSource, wrongMethod } from '../receive/acknowledge.ts'
import { limitsOf } from './acknowledge-read.ts'
import type { Mount } from './acknowledge-read.ts'
import { answerNode, writeAnswer } from './answer-node.ts'
import { endUnread } from './end-unread.ts'
import { isWelcome } from './read-body.ts'
import { readinessOf } from './readiness.ts'
import { resolveReceiverOptions } from './receiver-options.ts'
import type {
  DrainOptions,
  ListenOptions,
  ReceiverOptions,
  ResolvedReceiverOptions,
} from './receiver-options.ts'
import type { ReceivingInbox } from './receiving-inbox.ts'

/**
 * Makes a receiver. It does not listen before `listen` is called.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function createReceiver(inbox: ReceivingInbox, options: ReceiverOptions = {}): Receiver {
  return new Receiver(inbox, resolveReceiverOptions(options))
}

/** A server that receives for every source of an inbox. Made by `createReceiver`. */
export class Receiver implements AsyncDisposable {
  /** The server underneath, for its address, its errors and its sockets. */
  readonly server: Server
  readonly #inbox: ReceivingInbox
  readonly #path: string
  readonly #inFlight = new Set<ServerResponse>()
  #phase: 'serving' | 'withdrawn' | 'leaving' | 'draining' = 'serving'
  #drained: Promise<void> | undefined
  #onEmpty: () => void = () => undefined

  /** @internal */
  constructor(inbox: ReceivingInbox, options: ResolvedReceiverOptions) {
    this.#inbox = inbox
    this.#path = options.path
    this.server = createStrictServer(options, inbox.receiveOptions.bodyTimeoutMs)
    // An accept that fails, for want of file descriptors say, is over when it is over. Without a
    // listener it would end the process.
    this.server.on('error', () => undefined)
    this.server.on('request', (request, response) => this.#answer(request, response))
    // A sender that asks before it sends is told of a body that cannot be taken without sending it.
    this.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      this.#answer(request, response, 'asks to continue'),
    )
    // As long as a sender may take for its body, it may take to read the answer.
    endUnread(this.server, inbox.receiveOptions.bodyTimeoutMs)
  }

  /**
   * Begins to listen, and says where. Rejects with Node's error when it cannot.
   *
   * @throws OptionInvalidError for an option that is unknown
   */
  async listen(options: ListenOptions = {}): Promise<AddressInfo> {
    rejectUnknownKeys('listen', options, ['port', 'host'])
    const { port = 0, host = '127.0.0.1' } = options
    return new Promise((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen({ port, host }, () => {
        this.server.off('error', reject)
        resolve(this.server.address() as AddressInfo)
      })
    })
  }

  /**
   * Makes `/readyz` say 503 while deliveries are still taken. Call it a few seconds before `drain`
   * where a load balancer has to notice first.
   */
  withdraw(): void {
    if (this.#phase === 'serving') this.#phase = 'withdrawn'
  }

  /**
   * Stops: readiness goes first, then no new connection is taken. What comes on those that are open is still taken for
   * `idleMs`, and its answer closes its connection. Then no new request is taken, requests in flight finish or are
   * answered 503 at the end of the grace time, and every socket is closed.
   */
  drain(options: DrainOptions = {}): Promise<void> {
    rejectUnknownKeys('drain', options, ['graceMs', 'idleMs'])
    const { graceMs = 10_000, idleMs = 0 } = options
    requireInteger('drain.graceMs', graceMs, { min: 0, max: HOUR_MS })
    requireInteger('drain.idleMs', idleMs, { min: 0, max: HOUR_MS })
    this.#drained ??= this.#drain(graceMs, Math.min(idleMs, graceMs))
    return this.#drained
  }

  /** `await using` drains the receiver at the end of its block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  async #drain(graceMs: number, idleMs: number): Promise<void> {
    this.#phase = 'leaving'
    // By the server beneath: that of HTTP would also close every connection which waits for a request, and one that
    // is just arriving would meet a closed socket. Measured: restarting three receivers under load, 14 of 22,000.
    const closed = new Promise<void>((resolve) =>
      TcpServer.prototype.close.call(this.server, () => resolve()),
    )
    for (const response of this.#inFlight) closeAfter(response)
    if (idleMs > 0) await atMost(idleMs, closed)
    this.#phase = 'draining'
    this.server.closeIdleConnections()
    if (this.#inFlight.size > 0) {
      const empty = new Promise<void>((resolve) => (this.#onEmpty = resolve))
      await atMost(graceMs - idleMs, Promise.race([empty, closed]))
    }
    for (const response of [...this.#inFlight]) writeAnswer(response, closing(unavailable()))
    // The answers are small: what the kernel has not taken by now belongs to a sender that reads nothing.
    await new Promise((resolve) => setImmediate(resolve))
    this.server.closeAllConnections()
    await closed
    // It no longer listens; this ends the timer with which it looks for late requests.
    this.server.close()
  }

  #answer(request: IncomingMessage, response: ServerResponse, asks?: 'asks to continue'): void {
    this.#inFlight.add(response)
    response.once('close', () => {
      this.#inFlight.delete(response)
      if (this.#inFlight.size === 0) this.#onEmpty()
    })
    if (this.#phase === 'leaving') closeAfter(response)
    const route = this.#routeSafely(request)
    if ('sourceName' in route) {
      const mount = { inbox: this.#inbox, ...route, hint: () => RECEIVER_HINT }
      if (asks && isWelcome(request.headers['content-length'], limitsOf(mount)))
        response.writeContinue()
      void answerNode(mount, request, response)
    } else {
      writeAnswer(response, hasBody(request) ? closing(route) : route)
    }
  }

  /** A throw out of a request listener ends the process, so nothing may throw out of it. */
  #routeSafely(request: IncomingMessage): Route | Acknowledgement {
    try {
      return this.#route(request)
    } catch {
      return unavailable()
    }
  }

  /** A source to receive for, or the answer itself. */
  #route(request: IncomingMessage): Route | Acknowledgement {
    const path = pathOf(request.url ?? '')
    if (path === '/healthz') return isRead(request) ? health(200, 'ok') : readOnly()
    if (path === '/readyz') return isRead(request) ? this.#readiness() : readOnly()

    if (!path.startsWith(this.#path)) return unknownSource()
    const sourceName = path.slice(this.#path.length)
    // Before the body is read: no sender has to be read to be told 404.
    const limits = this.#inbox.findSource(sourceName)
    if (limits === undefined) return unknownSource()
    if (!limits.methods.includes(request.method ?? '')) return wrongMethod(limits.methods)
    if (this.#phase === 'draining') return closing(unavailable())
    return { sourceName, limits }
  }

  #readiness(): Acknowledgement {
    const isReady = this.#phase === 'serving' && this.#inbox.isReady()
    const readiness = readinessOf({ isReady, clockSkewMs: this.#inbox.clockSkewMs })
    return health(readiness === 'not ready' ? 503 : 200, readiness)
  }
}

/** A source to receive for. */
type Route = Pick<Mount, 'sourceName' | 'limits'>

const RECEIVER_HINT =
  'A listener on receiver.server read the body before Hookonce could see its bytes. Remove it.'

function createStrictServer(
  { headersTimeoutMs, keepAliveTimeoutMs, headerBytesMax, connectionsMax }: ResolvedReceiverOptions,
  bodyTimeoutMs: number,
): Server {
  const server = createServer({
    // Never lenient: what one parser forgives, the proxy in front of it may read as another request.
    insecureHTTPParser: false,
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersTimeoutMs,
    // The body has its own limit, which answers in words. This one is the net below it.
    requestTimeout: headersTimeoutMs + 2 * bodyTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // Node looks for late requests only so often: every 30 s, by default.
    connectionsCheckingInterval: Math.min(1_000, Math.ceil(headersTimeoutMs / 4)),
  })
  server.maxConnections = connectionsMax
  // Node drops headers past the 2,000th without a word, a second signature among them. The limit in
  // bytes bounds them already.
  server.maxHeadersCount = 0
  return server
}

/** Its connection ends with its answer, which says so: its client opens another one, to another process. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

/** Up to the query, exactly as it came. */
function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** A body that is not wanted is not read either: Node would read it all to keep the connection. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function readOnly(): Acknowledgement {
  const { headers, ...rest } = wrongMethod()
  return { ...rest, headers: { ...headers, allow: 'GET, HEAD' } }
}

function closing(acknowledgement: Acknowledgement): Acknowledgement {
  return { ...acknowledgement, close: true }
}

function health(status: 200 | 503, words: string): Acknowledgement {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  const outcome = status === 200 ? 'accepted' : 'unavailable'
  return {
    status,
    headers,
    body: JSON.stringify({ status: words }),
    outcome,
    eventId: undefined,
    close: false,
  }
}
