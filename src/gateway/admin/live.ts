/**
 * What happens in this process, as it happens: server-sent events.
 *
 * A stream is a courtesy. A client that does not read is cut off before it takes memory from those who receive; it
 * connects again by itself, and asks the lists for what it has missed.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { HappeningEmitter } from '../../telemetry/emitter.ts'
import type { Page } from './page.ts'
import { refuseRequest } from './problem.ts'
import { SAFE_HEADERS, sendProblem } from './send-answer.ts'

/** Where happenings come from. */
export type LiveSource = Pick<HappeningEmitter, 'onAny'>

/** More than that, and the client does not read. */
const BUFFER_BYTES_MAX = 256 * 1024
const CLIENTS_MAX = 32
/** Proxies cut what is silent for a minute. */
const HEARTBEAT_MS = 15_000
const TEXT_LENGTH_MAX = 1_024

interface Client {
  readonly response: ServerResponse
  /** Whether its token still counts. */
  readonly isAllowed: () => Promise<boolean>
}

export class LiveStreams {
  readonly #clients = new Set<Client>()
  readonly #heartbeat: NodeJS.Timeout
  #unwatch: () => void = () => undefined
  #count = 0

  constructor() {
    this.#heartbeat = setInterval(() => this.beat(), HEARTBEAT_MS).unref()
  }

  /** How many there are. */
  get size(): number {
    return this.#clients.size
  }

  /** From now on this is what is told; what was watched before is not any more. */
  watch(source: LiveSource): void {
    this.#unwatch()
    this.#unwatch = source.onAny((name, happening) => this.#tell(name, happening))
  }

  /** Begins a stream. `false` when there are too many. */
  open(client: Client): boolean {
    if (this.#clients.size >= CLIENTS_MAX) return false
    const { response } = client
    this.#clients.add(client)
    response.on('close', () => this.#clients.delete(client))
    response.writeHead(200, {
      ...SAFE_HEADERS,
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
    })
    response.write(': connected\n\n')
    return true
  }

  stop(): void {
    clearInterval(this.#heartbeat)
    this.#unwatch()
    for (const { response } of this.#clients) response.end()
  }

  /** Something to hear for those who are still allowed to; the others are cut off. */
  beat(): void {
    for (const client of this.#clients) {
      this.#write(client, ': heartbeat\n\n')
      client.isAllowed().then(
        (isAllowed) => {
          if (!isAllowed) client.response.end()
        },
        // The store does not answer: whether the token counts is asked again at the next beat.
        () => undefined,
      )
    }
  }

  #tell(name: string, happening: object): void {
    if (this.#clients.size === 0) return
    this.#count += 1
    const text = `id: ${this.#count}\nevent: ${name}\ndata: ${JSON.stringify(happening, asJson)}\n\n`
    for (const client of this.#clients) this.#write(client, text)
  }

  #write(client: Client, text: string): void {
    const { response } = client
    if (response.writableLength + text.length > BUFFER_BYTES_MAX) {
      this.#clients.delete(client)
      response.destroy()
    } else response.write(text)
  }
}

/** An error has no members of its own, and a stranger's text may be long. */
function asJson(_key: string, value: unknown): unknown {
  if (value instanceof Error)
    return { name: value.name, message: value.message.slice(0, TEXT_LENGTH_MAX) }
  if (typeof value === 'string' && value.length > TEXT_LENGTH_MAX)
    return `${value.slice(0, TEXT_LENGTH_MAX)}…`
  return value
}

/** `GET /api/v1/live`. */
export function livePage(
  streams: LiveStreams,
  isStillKnown: (tokenHash: Uint8Array) => Promise<boolean>,
): Page {
  return {
    method: 'GET',
    path: '/api/v1/live',
    role: 'viewer',
    answer: ({ request, response, principal }) => {
      const tokenHash = principal?.tokenHash
      const isAllowed = async (): Promise<boolean> =>
        tokenHash === undefined || isStillKnown(tokenHash)
      if (streams.open({ response, isAllowed })) return
      const problem = refuseRequest(503, 'Too many live streams are open. Close one of them.', {
        'retry-after': '15',
      })
      sendProblem(request, response, problem)
    },
  }
}
