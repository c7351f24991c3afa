/**
 * Sends one delivery as often as asked for, as a sender does that got no answer, and counts what came of it.
 *
 * @module
 */

import { asError, HookonceError } from '../errors.ts'
import { maskUrl } from '../gateway/mask-url.ts'
import type { Delivery } from '../index.ts'

/** What one delivery was answered. */
export interface Answer {
  readonly status: number
  readonly outcome: string
  readonly event: string | undefined
}

/** @throws HookonceError STORE_UNAVAILABLE where nothing can be reached */
export async function sendDelivery(
  url: string,
  delivery: Delivery,
  { times, atOnce }: { readonly times: number; readonly atOnce: boolean },
): Promise<readonly Answer[]> {
  const send = async (): Promise<Answer> => sendOne(url, delivery)
  if (atOnce) return Promise.all(Array.from({ length: times }, send))
  const answers: Answer[] = []
  for (let sent = 0; sent < times; sent += 1) answers.push(await send())
  return answers
}

/** Of a receiver somewhere else, which may be a stranger's: one that never ends its answer is not waited for. */
const ANSWER_MS_MAX = 30_000
/** More than what a gateway of ours answers. */
const ANSWER_BYTES_MAX = 65_536

async function readStart({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    if (done || value === undefined) break
    chunks.push(value)
    length += value.byteLength
    if (length <= ANSWER_BYTES_MAX) continue
    await reader?.cancel()
    break
  }
  return Buffer.concat(chunks).toString()
}

async function sendOne(url: string, delivery: Delivery): Promise<Answer> {
  const { headers, body, method } = delivery
  try {
    // Some senders have their token in the query.
    const response = await fetch(new URL(delivery.url, url), {
      method,
      headers: headers as Record<string, string>,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const text = await readStart(response)
    const { status, event } = readAnswer(text)
    return { status: response.status, outcome: status ?? `answered ${response.status}`, event }
  } catch (error) {
    const { message, cause } = asError(error)
    const why = cause instanceof Error ? cause.message : message
    throw new HookonceError('STORE_UNAVAILABLE', `${maskUrl(url)} cannot be reached: ${why}`, {
      cause: error,
      retryable: true,
    })
  }
}

/** What our own gateways answer; others answer anything. */
function readAnswer(text: string): { readonly status?: string; readonly event?: string } {
  try {
    const answer = JSON.parse(text) as Record<string, unknown> | null
    const { status, event, error } = answer ?? {}
    return {
      ...(typeof status === 'string' ? { status } : typeof error === 'string' && { status: error }),
      ...(typeof event === 'string' && { event }),
    }
  } catch {
    return {}
  }
}

/** The events that the answers name, each once. */
export function eventsOf(answers: readonly Answer[]): readonly string[] {
  return [...new Set(answers.flatMap(({ event }) => event ?? []))]
}

/** Whether the receiver said that it has it. */
export function isTaken({ status }: Answer): boolean {
  return status >= 200 && status <= 299
}

/** `10 deliveries, 1 event, handler ran 1 time`. */
export function countAnswers(answers: readonly Answer[], runs: number | undefined): string {
  // A receiver that names no event has got one all the same: the one that was signed.
  const events = eventsOf(answers).length || (answers.some(isTaken) ? 1 : 0)
  const parts = [
    counted(answers.length, 'delivery', 'deliveries'),
    ...(events > 0 ? [counted(events, 'event', 'events')] : []),
    ...(runs === undefined ? [] : [`handler ran ${counted(runs, 'time', 'times')}`]),
  ]
  return parts.join(', ')
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
