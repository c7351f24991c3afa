/**
 * Forwarding: what a source takes in is written to the outbox, once for each destination that wants it.
 *
 * One handler for a whole source, so that all its messages and the fact that the event is done commit together. From
 * then on each destination has its own retries: one that is down keeps its messages, and holds up no other.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { findJsonPath } from '../body/json-path.ts'
import type { JsonPath } from '../body/json-tokens.ts'
import { HookonceError } from '../errors.ts'
import type { DeliveryHeaders } from '../model/delivery.ts'
import type { WebhookEvent } from '../model/event.ts'
import { createMatcher } from '../model/type-matcher.ts'
import type { SendOptions } from '../model/message.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { PayloadTest, Transformed } from './config/config.ts'
import type { ResolvedConfig, ResolvedSourceConfig } from './config/schema.ts'

type Event = WebhookEvent
type Send = (destination: string, payload: unknown, options: SendOptions) => Promise<string>
type Handler = (event: Event, context: { readonly send: Send }) => Promise<void>

/** The part of an inbox that is used here. */
interface Handling {
  on(
    source: string,
    types: '*',
    options: { readonly name: string; readonly order?: FifoOrder },
    handler: Handler,
  ): unknown
}

interface FifoOrder {
  readonly mode: 'fifo'
  readonly lane: (event: Event) => string
  readonly onDead: 'block' | 'pass'
}

type Forwarding = Pick<ResolvedConfig, 'sources' | 'destinations'>

/** Registers a handler for each source that is forwarded. */
export function forwardEvents(inbox: Handling, { sources, destinations }: Forwarding): void {
  for (const [name, { forward = [] }] of Object.entries(sources)) {
    const routes = forward.map((entry, index) =>
      compileRoute(`sources.${name}.forward[${index}]`, entry),
    )
    if (routes.length === 0) continue
    const order = findOrder(routes, destinations)
    inbox.on(name, '*', { name: 'forward', ...(order && { order }) }, async (event, { send }) => {
      for (const { wants, write } of routes) if (wants(event)) await write(event, send)
    })
  }
}

/**
 * A lane of messages has the order in which they were written. So that this is the order in which their events came,
 * the handler has it as well, by the same value. Where the lanes of routes are named by different values, an event may
 * come behind one event for one destination and behind another for the next: then all events that are in a lane are in
 * one, for the whole source.
 */
function findOrder(
  routes: readonly Route[],
  destinations: ResolvedConfig['destinations'],
): FifoOrder | undefined {
  const inLanes = routes.filter(({ lane }) => lane !== undefined)
  if (inLanes.length === 0) return undefined
  const isOneLane = new Set(inLanes.map(({ lane }) => lane)).size === 1
  return {
    mode: 'fifo',
    lane: (event) => {
      const [found] = inLanes.flatMap(({ wants, findLane }) =>
        wants(event) ? (findLane(event) ?? []) : [],
      )
      // What no destination wants in a lane waits for no other.
      if (found === undefined) return `alone ${event.id}`
      return isOneLane ? found : event.source
    },
    onDead: inLanes.every(({ to }) => destinations[to]?.onDead === 'pass') ? 'pass' : 'block',
  }
}

interface Route {
  readonly to: string
  /** As the config says it. */
  readonly lane: string | undefined
  readonly wants: (event: Event) => boolean
  readonly findLane: (event: Event) => string | undefined
  readonly write: (event: Event, send: Send) => Promise<void>
}

type RouteConfig = NonNullable<ResolvedSourceConfig['forward']>[number]

function compileRoute(path: string, entry: RouteConfig): Route {
  const {
    to,
    types,
    where = [],
    transform,
    lane,
  } = typeof entry === 'string' ? { to: entry } : entry
  const isWantedType = types === undefined ? () => true : createMatcher(types)
  const tests = where.map((test, index) => compileTest(`${path}.where[${index}].path`, test))
  const findLane = lane === undefined ? () => undefined : compileLane(`${path}.lane`, lane)
  return {
    to,
    lane,
    wants: (event) => isWantedType(event.type) && tests.every((passes) => passes(event)),
    findLane,
    write: async (event, send) => {
      if (transform === undefined) {
        await send(to, event.body, { headers: headersFor(event), ...inLane(findLane(event)) })
        return
      }
      const made = requireTransformed(`${path}.transform`, transform(event))
      if (made === null) return
      const body = typeof made.body === 'string' ? Buffer.from(made.body) : made.body
      await send(to, body, {
        headers: headersOfTransformed(event, made),
        ...inLane(findLane(event)),
      })
    },
  }
}

const inLane = (lane: string | undefined): SendOptions => (lane === undefined ? {} : { lane })

/** By the value in the payload, apart for each source. An event without one waits for no other. */
function compileLane(option: string, lane: string): (event: Event) => string | undefined {
  const steps = requirePath(option, lane.slice('json:'.length), 'json:$.data.customer')
  return (event) => {
    const value = valueAt(payloadOf(event), steps)
    if (!['string', 'number', 'boolean'].includes(typeof value)) return undefined
    const name = JSON.stringify([event.source, value])
    // The sender's text has any length, and the name of a lane has not.
    return name.length <= 1_000 ? name : createHash('sha256').update(name).digest('hex')
  }
}

function requirePath(option: string, path: string, example: string): JsonPath {
  const steps = findJsonPath(path)
  if (steps !== undefined) return steps
  throw new HookonceError('CONFIG_INVALID', `${option} must be a path such as ${example}`)
}

function compileTest(option: string, { path, equals }: PayloadTest): (event: Event) => boolean {
  const steps = requirePath(option, path, '$.data.status')
  return (event) => valueAt(payloadOf(event), steps) === equals
}

/** A body that is neither JSON nor a form has no values, and is forwarded where none is asked for. */
function payloadOf(event: Event): unknown {
  try {
    return event.payload
  } catch (error) {
    if (error instanceof HookonceError && error.code === 'PAYLOAD_INVALID') return undefined
    throw error
  }
}

function valueAt(payload: unknown, steps: JsonPath): unknown {
  let value = payload
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string | number, unknown>)[step]
  }
  return value
}

/** What a transform without types returns may be anything: said in the words of the config, and not of the outbox. */
function requireTransformed(option: string, made: unknown): Transformed | null {
  if (made === null) return null
  if (made instanceof Promise) {
    // Nothing waits for it, and what it says would end the process as an unhandled rejection.
    made.catch(() => undefined)
    throw notTransformed(option, 'a promise, and must not be async')
  }
  if (typeof made !== 'object') {
    const what = made === undefined ? 'nothing' : `a ${typeof made}`
    throw notTransformed(option, what)
  }
  rejectUnknownKeys(option, made, ['body', 'headers'])
  if ((made as Transformed).body === undefined) throw notTransformed(option, 'no body')
  return made as Transformed
}

function notTransformed(option: string, what: string): HookonceError {
  return new HookonceError(
    'MESSAGE_INVALID',
    `${option} has returned ${what}. It must return { body, headers }, or null for nothing`,
  )
}

function headersOfTransformed(
  event: Event,
  { headers = {}, body }: Transformed,
): Record<string, string> {
  // Of the original, what says how its bytes are written is no longer true.
  const { 'content-type': original, 'content-encoding': _encoding, ...others } = headersFor(event)
  const keepsType = typeof body === 'string' || body instanceof Uint8Array
  const given = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  return {
    ...others,
    ...(keepsType && original !== undefined && { 'content-type': original }),
    ...given,
  }
}

/** The sender's own, without what belongs to its connection with us, and what says where the event came from. */
function headersFor(event: Event): Record<string, string> {
  const headers: Record<string, string> = {}
  const named = namedByConnection(event.headers)
  for (const [name, value] of Object.entries(event.headers)) {
    if (isDropped(name, value) || named.has(name)) continue
    headers[SET_BY_US.has(name) ? `original-${name}` : name] = asText(value)
  }
  return {
    ...withinBounds(headers),
    'hookonce-source': event.source,
    'hookonce-event-id': event.id,
    'hookonce-event-type': asHeaderText(event.type),
  }
}

/** `Connection: close, x-hop` makes `x-hop` one of those that end with the connection. */
function namedByConnection({ connection }: DeliveryHeaders): ReadonlySet<string> {
  if (connection === undefined) return new Set()
  return new Set(
    asText(connection)
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  )
}

function asText(value: DeliveryHeaders[string]): string {
  return typeof value === 'string' ? value : value.join(', ')
}

/** What all of them may take together: a message has an end, and many servers refuse a head of 8 KiB. */
const HEADERS_LENGTH_MAX = 6_000

/** The longest name that a message takes. */
const HEADER_NAME_LENGTH_MAX = 100

/** An event is not held up by what a proxy has put on it: the longest headers stay behind, and are named. */
function withinBounds(headers: Record<string, string>): Record<string, string> {
  const shortest = Object.entries(headers).toSorted(
    ([one, its], [other, others]) => one.length + its.length - (other.length + others.length),
  )
  let length = 0
  const kept = shortest.filter(([name, value]) => {
    if (name.length > HEADER_NAME_LENGTH_MAX) return false
    length += name.length + value.length
    return length <= HEADERS_LENGTH_MAX
  })
  if (kept.length === shortest.length) return headers
  const left = shortest.filter((entry) => !kept.includes(entry)).map(([name]) => name)
  return { ...Object.fromEntries(kept), 'hookonce-left-out': left.join(', ').slice(0, 500) }
}

function isDropped(name: string, value: DeliveryHeaders[string]): boolean {
  return (
    HOP_BY_HOP.has(name) || name.startsWith('hookonce-') || KEPT_AS.has(name) || value === WITHHELD
  )
}

/** What stands in a stored event in place of a header that is a secret. */
const WITHHELD = '[withheld]'

/** About the connection that it came on, and not about the event. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What a message of ours says for itself. The sender's own are kept under another name. */
const SET_BY_US: ReadonlySet<string> = new Set([
  'idempotency-key',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
])

/** The names under which those are kept: a sender cannot say for another what it has said. */
const KEPT_AS: ReadonlySet<string> = new Set([...SET_BY_US].map((name) => `original-${name}`))

/** A type is the sender's text; a header is one line of visible characters. */
function asHeaderText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)
}
