/**
 * Asks an API of a sender: waits where it is told to slow down, tries again where it fails, and reads no more than a
 * page can have.
 *
 * No message in this file carries a header that was sent: one of them is the token.
 *
 * @module
 */

import { HookonceError, OptionInvalidError } from '../errors.ts'
import { requireInteger } from '../options/require-integer.ts'

/** What every client takes. */
export interface ApiOptions {
  /**
   * What asks, for a proxy or a test.
   *
   * @defaultValue the global `fetch`
   */
  readonly fetch?: typeof globalThis.fetch
  /**
   * How long it waits when it is told to slow down. Told to wait for longer, the back-fill stops, and can be taken
   * up again.
   *
   * @defaultValue 120000
   */
  readonly patienceMs?: number
}

export const API_OPTIONS = ['fetch', 'patienceMs'] as const

export interface ApiAnswer {
  readonly body: Uint8Array
  readonly headers: Headers
}

const PATIENCE_MS = 120_000
const TRIES = 4
const ANSWER_TIMEOUT_MS = 30_000
/** GitHub's payloads end at 25 MB; a hundred events of Stripe are far below. */
const ANSWER_BYTES_MAX = 64 * 1_048_576

export class Api {
  readonly #name: string
  readonly #fetch: typeof globalThis.fetch
  readonly #patienceMs: number
  readonly #headers: Readonly<Record<string, string>>

  /** `name` is what messages call it. */
  constructor(name: string, options: ApiOptions, headers: Readonly<Record<string, string>>) {
    const { fetch = globalThis.fetch, patienceMs = PATIENCE_MS } = options
    if (typeof fetch !== 'function')
      throw new OptionInvalidError(`${name}.fetch`, 'a function like fetch', fetch)
    requireInteger(`${name}.patienceMs`, patienceMs, { min: 0 })
    this.#name = name
    this.#fetch = fetch
    this.#patienceMs = patienceMs
    this.#headers = headers
  }

  /** @throws HookonceError with the code BACKFILL_STOPPED, which says whether it is worth trying again */
  async get(url: URL, signal?: AbortSignal): Promise<ApiAnswer> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#try(url, signal)
      if ('body' in outcome) return outcome
      const { error, waitMs } = outcome
      if (!error.retryable || tries >= TRIES || waitMs > this.#patienceMs) throw error
      await pause(waitMs, signal)
    }
  }

  async #try(url: URL, signal: AbortSignal | undefined): Promise<ApiAnswer | Failed> {
    const limit = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    let response: Response
    let body: Uint8Array | undefined
    try {
      response = await this.#fetch(url, {
        headers: this.#headers,
        // A token is for one host.
        redirect: 'manual',
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      })
      body = await readAll(response)
    } catch (cause) {
      signal?.throwIfAborted()
      const error = this.#stopped(`could not be reached: ${url.host}`, { retryable: true, cause })
      return { error, waitMs: RETRY_MS }
    }
    if (body === undefined)
      return { error: this.#stopped(`gave more than ${ANSWER_BYTES_MAX} bytes`), waitMs: 0 }
    if (response.ok) return { body, headers: response.headers }
    return this.#judge(response, body)
  }

  #judge({ status, headers }: Response, body: Uint8Array): Failed {
    const said = Buffer.from(body.subarray(0, 300)).toString('utf8').trim()
    const waitMs = findWaitMs(status, headers)
    const isLimit = status === 403 && (waitMs !== undefined || /\brate limit\b/i.test(said))
    if (status === 429 || isLimit) {
      const wait = waitMs ?? (isLimit ? UNSAID_WAIT_MS : RETRY_MS)
      const message = `asks to wait for ${Math.ceil(wait / 1_000)} s (${status})`
      return { error: this.#stopped(message, { retryable: true }), waitMs: wait }
    }
    const retryable = status >= 500 || status === 408
    return {
      error: this.#stopped(`answered ${status}: ${JSON.stringify(said)}`, { retryable, status }),
      waitMs: RETRY_MS,
    }
  }

  #stopped(
    what: string,
    options: { retryable?: boolean; cause?: unknown; status?: number } = {},
  ): BackfillStoppedError {
    return new BackfillStoppedError(`${this.#name} ${what}`, options)
  }
}

interface Failed {
  readonly error: BackfillStoppedError
  readonly waitMs: number
}

/** A sender's API cannot be asked, now or at all. */
export class BackfillStoppedError extends HookonceError {
  override readonly name = 'BackfillStoppedError'
  /** What the API answered, where it did. */
  readonly status: number | undefined

  constructor(
    message: string,
    { retryable = false, cause, status }: { retryable?: boolean; cause?: unknown; status?: number },
  ) {
    super('BACKFILL_STOPPED', message, { retryable, ...(cause !== undefined && { cause }) })
    this.status = status
  }
}

const RETRY_MS = 500
/** What GitHub asks for where its secondary limit says no time. */
const UNSAID_WAIT_MS = 60_000

/** For how long the API asks to be left alone; `undefined` when it says nothing of the kind. */
function findWaitMs(status: number, headers: Headers): number | undefined {
  if (status !== 403 && status !== 429) return undefined
  // Times are by the clock of the API, which says what it is.
  const saidNow = Date.parse(headers.get('date') ?? '')
  const now = Number.isFinite(saidNow) ? saidNow : Date.now()
  const after = headers.get('retry-after')
  if (after !== null && /^\d{1,9}$/.test(after)) return Number(after) * 1_000
  const date = after === null ? Number.NaN : Date.parse(after)
  if (Number.isFinite(date)) return Math.max(0, date - now)
  // GitHub's way: nothing left, and from when on there is again, in seconds since 1970.
  const reset = headers.get('x-ratelimit-reset')
  if (headers.get('x-ratelimit-remaining') === '0' && reset !== null && /^\d{1,12}$/.test(reset))
    return Math.max(0, Number(reset) * 1_000 - now)
  return undefined
}

async function readAll(response: Response): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array(0)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength
    if (length > ANSWER_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(end, ms)
    function end(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted === true) reject(signal.reason as Error)
      else resolve()
    }
    signal?.addEventListener('abort', end)
  })
}
