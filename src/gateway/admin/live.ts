/**
 * What happens, as it happens: server-sent events. What happens in this process is told at once and in detail. What becomes
 * of events in any process of the fleet is told from the store, which is asked once a second while a client listens.
 *
 * A stream promises nothing. A client that does not read is cut off before it takes memory from receiving; it
 * connects again by itself, and asks the lists for what it has missed.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { EventFinder } from '../../admin/event-finder.ts'
import { EventFollower } from '../../admin/follow-events.ts'
import { describeError } from '../../telemetry/describe-error.ts'
import type { HappeningEmitter } from '../../telemetry/emitter.ts'
import type { Principal } from './access.ts'
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
/** Events that were there before, of which it is told when they go on. */
const FOLLOWED = 100
/** As often as `hookonce tail` looks. */
const LOOK_EVERY_MS = 1_000

interface Client {
  readonly response: ServerResponse
  /** Whether its token and its session still count. */
  readonly isAllowed: () => Promise<boolean>
}

export class LiveStreams {
  readonly #clients = new Set<Client>()
  readonly #heartbeat: NodeJS.Timeout
  readonly #list: EventFinder['list'] | undefined
  #isLooking = false
  readonly #ending = new AbortController()
  #unwatch: () => void = () => undefined
  #count = 0

  /** `list` is that of the operator: without it the stream tells only of this process. */
  constructor(list?: EventFinder['list']) {
    this.#list = list
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
    void this.#look()
    return true
  }

  stop(): void {
    clearInterval(this.#heartbeat)
    this.#unwatch()
    this.#ending.abort()
    for (const { response } of this.#clients) response.end()
  }

  /** Sends a line to each client that is still allowed to listen; the others are cut off. */
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

  /** For as long as a client listens. What a store that is away would have told is told when it is back. */
  async #look(): Promise<void> {
    if (this.#list === undefined || this.#isLooking) return
    this.#isLooking = true
    const { signal } = this.#ending
    const follower = new EventFollower(this.#list)
    let hasBegun = false
    while (this.#clients.size > 0 && !signal.aborted) {
      try {
        // What was there before the first client came is no news.
        if (hasBegun) for (const event of await follower.look()) this.#tell('event.seen', event)
        else await follower.begin(FOLLOWED)
        hasBegun = true
      } catch {
        // The store does not answer, which its own happenings tell of.
      }
      await pause(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined)
    }
    this.#isLooking = false
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

/** An error has no members of its own, and says what a log may say of it. A stranger's text may be long. */
function asJson(_key: string, value: unknown): unknown {
  if (value instanceof Error) {
    const { name, message } = describeError(value)
    return { name, message: message.slice(0, TEXT_LENGTH_MAX) }
  }
  if (typeof value === 'string' && value.length > TEXT_LENGTH_MAX)
    return `${value.slice(0, TEXT_LENGTH_MAX)}…`
  return value
}

/** `GET /api/v1/live`. */
export function livePage(
  streams: LiveStreams,
  isStillKnown: (principal: Principal) => Promise<boolean>,
): Page {
  return {
    method: 'GET',
    path: '/api/v1/live',
    role: 'viewer',
    answer: ({ request, response, principal }) => {
      const isAllowed = async (): Promise<boolean> =>
        principal === undefined || isStillKnown(principal)
      if (streams.open({ response, isAllowed })) return
      const problem = refuseRequest(503, 'Too many live streams are open. Close one of them.', {
        'retry-after': '15',
      })
      sendProblem(request, response, problem)
    },
  }
}
