/**
 * From a declaration's places to the events of a delivery.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import type {
  BelievedVerdict,
  Identified,
  IdentifiedEvent,
  IdentifyLimits,
} from '../model/source.ts'
import { JsonBody } from '../body/json-body.ts'
import { findJsonPattern, Reading } from '../body/json-path.ts'
import { EVERY } from '../body/json-tokens.ts'
import type { JsonPattern } from '../body/json-tokens.ts'
import { compilePlace } from '../body/place.ts'
import type { CompiledPlace, Place } from '../body/place.ts'
import { findOccurredAt } from './occurred-at.ts'
import { UNKNOWN_TYPE } from './unknown-type.ts'

/** Where the parts of an event's identity are, and which events a delivery carries. */
export interface IdentitySpec {
  /** What makes an event this event and no other, the same in every retry. */
  readonly key: Place
  /** @defaultValue every event has the type 'unknown' */
  readonly type?: Place
  /** What narrows the key: an account, a mode, a shop. */
  readonly scope?: Place
  /**
   * What the provider signs for one delivery and no other, where its signature does not cover the body.
   * Seen again with other content it is a conflict. Not for providers with a `batch`.
   */
  readonly deliveryKey?: Place
  /** When it happened: ISO 8601, or seconds or milliseconds since 1970. */
  readonly occurredAt?: Place
  /** What rises when the object changes. */
  readonly version?: Place
  /** The sender's count of its events. */
  readonly sequence?: Place
  /**
   * Where the events of a delivery are: a list (`$.events[*]`, `$.entry[*].changes[*]`), several lists,
   * or code that cuts the body, best one part after the other: of a delivery with too many events none is
   * run, and cutting the rest would be for nothing. A body without such a list is one event.
   */
  readonly batch?:
    string | readonly string[] | ((reading: Reading) => Iterable<BatchPart> | undefined)
  /** Values that differ from one retry to the next, as paths in an event: `$.attempt`. */
  readonly volatile?: readonly string[]
  /** The part of an event that stays the same, where that is shorter to say: `$.event`, or code. */
  readonly content?: string | ((reading: Reading) => Uint8Array | undefined)
  /**
   * Values that are believed and not kept, such as a passcode in the body, as paths in an event. What
   * is stored has `""` in their place. They are volatile as well: a secret may be changed between retries.
   */
  readonly unstored?: readonly string[]
}

/** One event's part of a body. */
export interface BatchPart {
  readonly bytes: Uint8Array
  /** What it is, where the body's own content type does not say it. */
  readonly bodyType?: string
}

export interface Identification {
  readonly headers: readonly string[]
  /** The headers that the key and the scope are read from. */
  readonly keyHeaders: readonly string[]
  /** Whether the key or the scope is read from the URL's query. */
  readonly keyReadsQuery: boolean
  identify(
    delivery: Delivery,
    options?: Readonly<Record<string, unknown>>,
    verdict?: BelievedVerdict,
    limits?: IdentifyLimits,
  ): Identified
  /** The body as it may be kept; left out where that is as it came. */
  readonly redactBody?: (delivery: Delivery) => Uint8Array
}

export function compileIdentification(provider: string, spec: IdentitySpec): Identification {
  const place = (name: keyof IdentitySpec, value: Place | undefined) =>
    value === undefined ? undefined : compilePlace(`${provider}.${name}`, value)
  const places: Places = {
    key: compilePlace(`${provider}.key`, spec.key),
    type: place('type', spec.type),
    scope: place('scope', spec.scope),
    deliveryKey: place('deliveryKey', spec.deliveryKey),
    occurredAt: place('occurredAt', spec.occurredAt),
    version: place('version', spec.version),
    sequence: place('sequence', spec.sequence),
  }
  const cut = compileBatch(provider, spec.batch)
  const contentOf = compileContent(provider, spec)
  const storedOf = compileStored(provider, spec)
  const redactBody = compileRedaction(provider, spec)
  return {
    ...(redactBody && { redactBody }),
    headers: Object.values(places).flatMap((one: CompiledPlace | undefined) => one?.headers ?? []),
    keyHeaders: [...places.key.headers, ...(places.scope?.headers ?? [])],
    keyReadsQuery: places.key.readsQuery || places.scope?.readsQuery === true,
    identify(delivery, options, verdict, { eventsMax } = NO_LIMITS) {
      try {
        const whole = new Reading(delivery, undefined, options, verdict?.signed)
        const parts = cut?.(whole)
        if (parts === undefined) {
          const event = identifyOne(places, contentOf, whole)
          const body = storedOf(whole)
          return [body === undefined ? event : { ...event, body }]
        }
        const events: IdentifiedEvent[] = []
        for (const { bytes, bodyType } of parts) {
          const place = { bytes, index: events.length, root: whole }
          const part = new Reading(delivery, place, options, whole.signed)
          events.push({
            ...identifyOne(places, contentOf, part),
            body: storedOf(part) ?? bytes,
            ...(bodyType !== undefined && { bodyType }),
          })
          if (events.length > eventsMax) break
        }
        return events
      } catch {
        // A provider's own code met a body it did not foresee. The delivery is verified, so it is kept.
        return [{ key: undefined, type: UNKNOWN_TYPE }]
      }
    },
  }
}

const NO_LIMITS: IdentifyLimits = { eventsMax: Infinity }

interface Places {
  readonly key: CompiledPlace
  readonly type: CompiledPlace | undefined
  readonly scope: CompiledPlace | undefined
  readonly deliveryKey: CompiledPlace | undefined
  readonly occurredAt: CompiledPlace | undefined
  readonly version: CompiledPlace | undefined
  readonly sequence: CompiledPlace | undefined
}

function identifyOne(
  places: Places,
  contentOf: (reading: Reading) => Uint8Array | undefined,
  reading: Reading,
): IdentifiedEvent {
  // No spreads, here and in what else every delivery goes through: V8 makes what is spread in the old generation.
  // Measured with duplicates over HTTP: 99 µs of processor time each, and 123 with those that were on their way.
  const event: Writable<IdentifiedEvent> = {
    key: places.key.find(reading),
    type: places.type?.find(reading) ?? UNKNOWN_TYPE,
  }
  const scope = places.scope?.find(reading)
  if (scope !== undefined) event.scope = scope
  const deliveryKey = places.deliveryKey?.find(reading)
  if (deliveryKey !== undefined) event.deliveryKey = deliveryKey
  const occurredAt = findOccurredAt(places.occurredAt?.find(reading))
  if (occurredAt !== undefined) event.occurredAt = occurredAt
  const version = places.version?.find(reading)
  if (version !== undefined) event.version = numberOrText(version)
  const sequence = places.sequence?.find(reading)
  if (sequence !== undefined) event.sequence = numberOrText(sequence)
  const content = contentOf(reading)
  if (content !== undefined) event.content = content
  return event
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

/** A number where a number holds it exactly. */
function numberOrText(text: string): number | string {
  const value = Number(text)
  return Number.isSafeInteger(value) && String(value) === text ? value : text
}

function compileBatch(
  provider: string,
  batch: IdentitySpec['batch'],
): ((reading: Reading) => Iterable<BatchPart> | undefined) | undefined {
  if (batch === undefined || typeof batch === 'function') return batch
  const patterns = [batch].flat().map((text) => requirePattern(`${provider}.batch`, text))
  return ({ json }) => {
    const lists = patterns.filter((pattern) => Array.isArray(json?.findValue(listOf(pattern))))
    return json === undefined || lists.length === 0 ? undefined : cutLists(json, lists)
  }
}

function* cutLists(json: JsonBody, lists: readonly JsonPattern[]): Generator<BatchPart, void> {
  for (const list of lists) for (const bytes of json.walkSlices(list)) yield { bytes }
}

/** The path of the outermost list of a pattern. */
function listOf(pattern: JsonPattern): readonly (string | number)[] {
  const end = pattern.indexOf(EVERY)
  return pattern.slice(0, end === -1 ? undefined : end) as readonly (string | number)[]
}

function compileContent(
  provider: string,
  { volatile = [], unstored = [], content }: IdentitySpec,
): (reading: Reading) => Uint8Array | undefined {
  if (typeof content === 'function') return content
  if (content !== undefined) {
    const pattern = requirePattern(`${provider}.content`, content)
    return ({ json }) => json?.listSlices(pattern)[0]
  }
  const patterns = [...volatile, ...unstored].map((text) =>
    requirePattern(`${provider}.volatile`, text),
  )
  return patterns.length === 0 ? () => undefined : ({ json }) => json?.findBytesWithout(patterns)
}

/** What is kept of an event, where that is not all of it. */
function compileStored(
  provider: string,
  { unstored = [] }: IdentitySpec,
): (reading: Reading) => Uint8Array | undefined {
  const patterns = unstored.map((text) => requirePattern(`${provider}.unstored`, text))
  return patterns.length === 0
    ? () => undefined
    : ({ json }) => json?.findBytesWithout(patterns, '""')
}

/** The same of a whole delivery, whether it is one event or a list of them. */
function compileRedaction(
  provider: string,
  { unstored = [], batch = [] }: IdentitySpec,
): ((delivery: Delivery) => Uint8Array) | undefined {
  if (unstored.length === 0) return undefined
  if (typeof batch === 'function')
    throw new OptionInvalidError(`${provider}.unstored`, 'used with a batch that is a path', batch)
  const lists = ['$', ...[batch].flat()]
  const patterns = lists.flatMap((list) =>
    unstored.map((text) => requirePattern(`${provider}.unstored`, list + text.slice(1))),
  )
  return (delivery) =>
    JsonBody.find(delivery.body)?.findBytesWithout(patterns, '""') ?? delivery.body
}

function requirePattern(option: string, text: string): JsonPattern {
  const pattern = findJsonPattern(text)
  if (pattern === undefined) {
    throw new OptionInvalidError(option, 'a path such as $.events[*] or $.attempt', text)
  }
  return pattern
}
