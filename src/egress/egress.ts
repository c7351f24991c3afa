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

import type { IncomingHttpHeaders } from 'node:http'
import { asError, DestinationBlockedError } from '../errors.ts'
import { bareHost, checkUrl } from './check-url.ts'
import type { BlockReason, UrlCheck } from './check-url.ts'
import { createConnectionCheck } from './connection-check.ts'
import type { CreateHttpClient, HttpClient } from './http-client.ts'
import { nodeClient } from './node-client.ts'
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
      readonly headers: IncomingHttpHeaders
      /** As it came, undecoded, and no more than `responseBytesMax` of it. */
      readonly body: Uint8Array
      readonly isComplete: boolean
    }
  /** Nothing was connected to. */
  | { readonly outcome: 'blocked'; readonly reason: BlockReason; readonly host: string }
  | {
      readonly outcome: 'failed'
      readonly error: Error
      /** Whether the other side may have got it: false only where no connection was made, or none that is secure. */
      readonly mayHaveArrived: boolean
    }

export class Egress {
  readonly #options: ResolvedEgressOptions
  readonly #client: HttpClient
  #checked: { readonly text: string; readonly result: UrlCheck } | undefined

  /** `path` is what its options are called in errors. */
  constructor(
    options: EgressOptions = {},
    path = 'egress',
    createClient: CreateHttpClient = nodeClient,
  ) {
    this.#options = resolveEgressOptions(options, path)
    this.#client = createClient(createConnectionCheck(this.#options))
  }

  /** Whether a URL may be a destination, for when it is configured. Its addresses are checked when it is used. */
  check(url: string): UrlCheck {
    // A destination has one URL, and what is said of its text does not change.
    if (this.#checked?.text !== url)
      this.#checked = { text: url, result: checkUrl(url, this.#options.allowed) }
    return this.#checked.result
  }

  /** Sends one request. Never rejects. */
  async request(request: OutgoingRequest): Promise<EgressOutcome> {
    const checked = this.check(request.url)
    if (!checked.ok) return blocked(request.url, checked.reason)
    const progress = { hasConnected: false }
    try {
      return await this.#exchange(checked.url, request, progress)
    } catch (error) {
      if (error instanceof DestinationBlockedError)
        return blocked(request.url, error.reason as BlockReason)
      return { outcome: 'failed', error: asError(error), mayHaveArrived: progress.hasConnected }
    }
  }

  /** Closes idle connections, and those in use. */
  close(): void {
    this.#client.close()
  }

  #exchange(
    url: URL,
    { method, headers, body, signal }: OutgoingRequest,
    progress: { hasConnected: boolean },
  ): Promise<EgressOutcome> {
    const sent = {
      'accept-encoding': 'identity',
      ...headers,
      'content-length': String(body.byteLength),
    }
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(asError(signal.reason))
      const reader = new AnswerReader(this.#options.responseBytesMax)
      const deadlines = new Deadlines(this.#options, (error) => end(error))
      const onAbort = (): void => end(asError(signal?.reason))
      let giveUp: (() => void) | undefined
      const end = (error?: Error): void => {
        deadlines.clear()
        signal?.removeEventListener('abort', onAbort)
        // What the head said stays true, however the rest went.
        const answer = reader.findAnswer(error === undefined)
        if (answer !== undefined) resolve(answer)
        else reject(error ?? new Error('The answer ended before it began'))
        if (error !== undefined || answer?.isComplete === false) giveUp?.()
      }
      signal?.addEventListener('abort', onAbort)
      try {
        giveUp = this.#client.send(
          { url, method, headers: sent, body },
          {
            onConnected: () => {
              progress.hasConnected = true
              deadlines.progressed()
            },
            onHead: (status, answered) => {
              reader.begin(status, answered)
              deadlines.progressed()
            },
            onData: (chunk) => {
              deadlines.progressed()
              if (reader.add(chunk) === 'full') end()
            },
            onEnd: () => end(),
            onError: end,
          },
        )
      } catch (error) {
        end(asError(error))
      }
    })
  }
}

function blocked(url: string, reason: BlockReason): EgressOutcome {
  const host = URL.canParse(url) ? bareHost(new URL(url)) : ''
  return { outcome: 'blocked', reason, host }
}

type Answer = Extract<EgressOutcome, { outcome: 'answered' }>

/** Reads as much of an answer as it may, whatever a header says of its length or coding. */
class AnswerReader {
  readonly #bytesMax: number
  readonly #chunks: Uint8Array[] = []
  #size = 0
  #head: Pick<Answer, 'status' | 'headers'> | undefined

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  begin(status: number, headers: IncomingHttpHeaders): void {
    this.#head = { status, headers }
  }

  add(chunk: Uint8Array): 'full' | 'more' {
    this.#chunks.push(chunk)
    this.#size += chunk.byteLength
    return this.#size > this.#bytesMax ? 'full' : 'more'
  }

  /** `undefined` while there is no head. */
  findAnswer(hasEnded: boolean): Answer | undefined {
    if (this.#head === undefined) return undefined
    const body = Buffer.concat(this.#chunks).subarray(0, this.#bytesMax)
    const isComplete = hasEnded && this.#size <= this.#bytesMax
    return { outcome: 'answered', ...this.#head, body, isComplete }
  }
}

/** All of it, and each silence in it. */
class Deadlines {
  readonly #total: NodeJS.Timeout
  readonly #idle: NodeJS.Timeout

  constructor(
    { requestTimeoutMs, idleTimeoutMs }: ResolvedEgressOptions,
    onTimeout: (error: Error) => void,
  ) {
    const fail = (ms: number) => () => onTimeout(timedOut(ms))
    this.#total = setTimeout(fail(requestTimeoutMs), requestTimeoutMs)
    this.#idle = setTimeout(fail(idleTimeoutMs), idleTimeoutMs)
  }

  progressed(): void {
    this.#idle.refresh()
  }

  clear(): void {
    clearTimeout(this.#total)
    clearTimeout(this.#idle)
  }
}

function timedOut(ms: number): Error {
  return Object.assign(new Error(`There was no answer within ${ms} ms`), { name: 'TimeoutError' })
}
