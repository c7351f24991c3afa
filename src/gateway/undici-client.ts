/**
 * undici as the client of the gateway's destinations: a request takes a third of the time that Node's own client
 * takes. The library has no dependency, so that there it is Node's.
 * See `docs/decisions/2026-11-gateways-send-with-undici.md`.
 *
 * @module
 */

import type { Dispatcher } from 'undici'
import buildConnector from 'undici/lib/core/connect.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import type {
  ClientRequest,
  CreateHttpClient,
  ExchangeListener,
  HttpClient,
} from '../egress/http-client.ts'
import type { ConnectionCheck } from '../egress/connection-check.ts'

export const undiciClient: CreateHttpClient = (check): HttpClient => {
  let agent = createCheckedAgent(check)
  return {
    send: (request, listener) => {
      const exchange = new Exchange(listener)
      agent.dispatch(optionsOf(request), exchange)
      return () => exchange.giveUp()
    },
    close: () => {
      // One that was destroyed is of no use any more; Node's can be used again.
      void agent.destroy()
      agent = createCheckedAgent(check)
    },
  }
}

/** A connection that is given up sooner is the request's business. This one only clears away what hangs. */
const CONNECT_TIMEOUT_MS = 60_000

function createCheckedAgent({ findRefusal, lookup }: ConnectionCheck): Agent {
  const connect = buildConnector({
    lookup,
    // Said here, because left out it is the environment's to say (NODE_TLS_REJECT_UNAUTHORIZED=0).
    rejectUnauthorized: true,
    timeout: CONNECT_TIMEOUT_MS,
  })
  return new Agent({
    connect: (target, callback) => {
      const refusal = findRefusal({ host: target.hostname })
      if (refusal === undefined) return connect(target, callback)
      process.nextTick(() => callback(refusal, null))
    },
    // A request has its own deadlines.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function optionsOf({ url, method, headers, body }: ClientRequest): Agent.DispatchOptions {
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers,
    body,
  }
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #listener: ExchangeListener
  #controller: Dispatcher.DispatchController | undefined
  #isGivenUp = false

  constructor(listener: ExchangeListener) {
    this.#listener = listener
  }

  giveUp(): void {
    this.#isGivenUp = true
    this.#controller?.abort(GIVEN_UP)
  }

  /** It has a connection, and nothing of it is written yet: one that was given up before is not sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isGivenUp) controller.abort(GIVEN_UP)
    else this.#listener.onConnected()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status >= 200) this.#listener.onHead(status, joinRepeated(headers))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#listener.onData(chunk)
  }

  onResponseEnd(): void {
    this.#listener.onEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#listener.onError(error)
  }
}

const GIVEN_UP = new Error('The request was given up')

/** As Node gives them: only cookies are a list, and of what may be said once the first counts. */
function joinRepeated(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | string[] | undefined> {
  for (const [name, value] of Object.entries(headers)) {
    if (!Array.isArray(value) || name === 'set-cookie') continue
    headers[name] = name === 'retry-after' ? value[0] : value.join(', ')
  }
  return headers
}
