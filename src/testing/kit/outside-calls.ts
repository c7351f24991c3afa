/**
 * What handlers do outside the database, written down: by `step.call`, by `fetch`, and by what the test puts in the
 * place of a service.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'

/** A call that a handler made outside the database. */
export interface OutsideCall {
  /** Which call: the name of the step, what the test calls the service, or the method and the URL of a `fetch`. */
  readonly to: string
  /** How it was seen. */
  readonly by: 'step' | 'service' | 'fetch'
  /** The key that it had, by which the other side knows it again; `undefined` when it had none. */
  readonly idempotencyKey: string | undefined
  /** The `step.call` that it was made in; `undefined` for one that was made in none. */
  readonly step: string | undefined
  /** The key of the event. */
  readonly event: string
  /** Which attempt of the handler made it. */
  readonly attempt: number
  /** Whether it only asks, as a GET does. */
  readonly isSafe: boolean
}

/** What handlers of a test get beside the inbox. */
export interface HandlerTools {
  /**
   * For what the test puts in the place of a service: writes down that it was called, and with which key.
   *
   *     const mailer = { send: async (mail, { idempotencyKey } = {}) => outside('mailer', idempotencyKey) }
   */
  outside(service: string, idempotencyKey?: string): void
}

/** The run of a handler that code is called from. */
export interface Frame {
  readonly event: string
  readonly attempt: number
  readonly step?: { readonly name: string; readonly idempotencyKey: string }
  readonly calls: OutsideCall[]
  readonly fetch: FetchStub | undefined
}

/** Answers what handlers fetch. */
export type FetchStub = (request: Request) => Response | Promise<Response>

const frames = new AsyncLocalStorage<Frame>()

export function runIn<Result>(frame: Frame, work: () => Result): Result {
  return frames.run(frame, work)
}

function findFrame(): Frame | undefined {
  return frames.getStore()
}

/** Writes down a call that is made by the code that calls this. */
export function noteCall(call: Pick<OutsideCall, 'to' | 'by' | 'idempotencyKey' | 'isSafe'>): void {
  const frame = findFrame()
  if (frame === undefined) return
  const { event, attempt, step, calls } = frame
  calls.push({ ...call, step: step?.name, event, attempt })
}

let users = 0
let before: typeof globalThis.fetch | undefined

/**
 * While at least one test uses it, what a handler fetches is answered by its test. All other code of the process
 * fetches as before.
 *
 * @returns how to stop
 */
export function catchFetch(): () => void {
  users += 1
  if (users === 1) {
    const original = globalThis.fetch
    before = original
    globalThis.fetch = async (input, init) => {
      const frame = findFrame()
      if (frame?.fetch === undefined) return original(input, init)
      const request = new Request(input, init)
      await noteFetch(frame, request)
      return frame.fetch(request)
    }
  }
  let isCaught = true
  return () => {
    if (!isCaught) return
    isCaught = false
    users -= 1
    if (users === 0 && before !== undefined) globalThis.fetch = before
  }
}

async function noteFetch(frame: Frame, request: Request): Promise<void> {
  const { method, url } = request
  const isSafe = method === 'GET' || method === 'HEAD'
  const idempotencyKey =
    request.headers.get('idempotency-key') ?? (await findOwnKey(frame, request.clone()))
  noteCall({ to: `${method} ${url}`, by: 'fetch', idempotencyKey, isSafe })
}

/** Some services take the key in another header, in the URL or in the body. */
async function findOwnKey({ step }: Frame, request: Request): Promise<string | undefined> {
  if (step === undefined) return undefined
  const { idempotencyKey } = step
  const texts = [request.url, ...request.headers.values(), await request.text()]
  return texts.some((text) => text.includes(idempotencyKey)) ? idempotencyKey : undefined
}
