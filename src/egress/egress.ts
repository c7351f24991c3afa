/**
 * One HTTP request to the outside, to nowhere but where it was meant to go.
 *
 * What it promises: the URL and the address are checked, the address at every connection; a redirect is
 * an answer and is not followed; no proxy is taken from the environment; what is read of an answer is
 * capped, and its bytes are as they came, so that no compression can swell them.
 *
 * What it leaves to others: what is sent, how often, and what an answer means.
 *
 * @module
 */

import http from 'node:http'
import https from 'node:https'
import { asError, DestinationBlockedError } from '../errors.ts'
import { bareHost, checkUrl } from './check-url.ts'
import type { BlockReason, UrlCheck } from './check-url.ts'
import { createGuardedAgents } from './guarded-agent.ts'
import { resolveEgressOptions } from './options.ts'
import type { EgressOptions, ResolvedEgressOptions } from './options.ts'

export interface OutgoingRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal?: AbortSignal
}

/** What became of a request. */
export type EgressOutcome =
  | {
      readonly outcome: 'answered'
      readonly status: number
      readonly headers: http.IncomingHttpHeaders
      /** As it came, undecoded, and no more than `responseBytesMax` of it. */
      readonly body: Uint8Array
      readonly isComplete: boolean
    }
  /** Nothing was connected to. */
  | { readonly outcome: 'blocked'; readonly reason: BlockReason; readonly host: string }
  | {
      readonly outcome: 'failed'
      readonly error: Error
      /** Whether the other side may have got it: false only where no connection was made. */
      readonly mayHaveArrived: boolean
    }

export class Egress {
  readonly #options: ResolvedEgressOptions
  readonly #agents: ReturnType<typeof createGuardedAgents>

  constructor(options: EgressOptions = {}) {
    this.#options = resolveEgressOptions(options)
    this.#agents = createGuardedAgents(this.#options, { keepAlive: true })
  }

  /** Whether a URL may be a destination, for when it is configured. Its addresses are checked when it is used. */
  check(url: string): UrlCheck {
    return checkUrl(url, this.#options.allowed)
  }

  /** Sends one request. Never rejects. */
  async request(request: OutgoingRequest): Promise<EgressOutcome> {
    const checked = this.check(request.url)
    if (!checked.ok) return { outcome: 'blocked', reason: checked.reason, host: '' }
    const deadline = AbortSignal.timeout(this.#options.requestTimeoutMs)
    const signal =
      request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal])
    const progress = { hasConnected: false }
    try {
      return await this.#exchange(checked.url, request, signal, progress)
    } catch (error) {
      if (error instanceof DestinationBlockedError) {
        const host = bareHost(checked.url)
        return { outcome: 'blocked', reason: error.reason as BlockReason, host }
      }
      return {
        outcome: 'failed',
        error: asError(signal.aborted ? signal.reason : error),
        mayHaveArrived: progress.hasConnected,
      }
    }
  }

  /** Closes idle connections, and those in use. */
  close(): void {
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }

  #exchange(
    url: URL,
    { method, headers, body }: OutgoingRequest,
    signal: AbortSignal,
    progress: { hasConnected: boolean },
  ): Promise<EgressOutcome> {
    const isSecure = url.protocol === 'https:'
    const agent = isSecure ? this.#agents.https : this.#agents.http
    const sent = {
      'accept-encoding': 'identity',
      ...headers,
      'content-length': String(body.byteLength),
    }
    return new Promise((resolve, reject) => {
      const options = { method, headers: sent, agent, signal }
      const outgoing = (isSecure ? https : http).request(url, options)
      outgoing.on('socket', (socket) => {
        // A connection that is used again is there already.
        if (!socket.connecting) progress.hasConnected = true
        else socket.once('connect', () => (progress.hasConnected = true))
      })
      outgoing.on('error', reject)
      outgoing.on('response', (response) => {
        readCapped(response, this.#options.responseBytesMax).then(resolve, reject)
      })
      outgoing.end(body)
    })
  }
}

/** Whatever a header says of its length or coding. */
function readCapped(response: http.IncomingMessage, bytesMax: number): Promise<EgressOutcome> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const answer = (isComplete: boolean): void => {
      const body = Buffer.concat(chunks).subarray(0, bytesMax)
      const { statusCode: status = 0, headers } = response
      resolve({ outcome: 'answered', status, headers, body, isComplete })
    }
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.byteLength
      if (size <= bytesMax) return
      answer(false)
      response.destroy()
    })
    response.on('end', () => answer(true))
    response.on('error', reject)
  })
}
