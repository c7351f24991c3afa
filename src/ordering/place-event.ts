/**
 * Which lane an event is in, and where: what a store is told when it sorts the event.
 *
 * @module
 */

import { asError, HookonceError } from '../errors.ts'
import { createPlainEnvelope } from '../model/envelope.ts'
import type { EnvelopeContent } from '../model/envelope.ts'
import type { WebhookEvent } from '../model/event.ts'
import { findOrderText, findOrderValue } from '../model/order-text.ts'
import type { OrderText } from '../model/order-text.ts'
import { laneIdOf } from './lane-id.ts'
import type { LaneId } from './lane-id.ts'
import type { Order, OrderMode } from './order.ts'

/** A lane as a store and a person know it. */
export interface Lane {
  readonly id: LaneId
  readonly source: string
  readonly mode: OrderMode
  /** What the handler's `lane` returned. */
  readonly key: string
}

/** Where an event stands in its lane. */
export interface Placement {
  readonly lane: Lane
  /** For `sequence`: its number, and the one that a lane begins with. */
  readonly number?: number
  readonly first?: number
  /** For `latest`: its version. For `after`: the type that it waits for. */
  readonly place?: string
  /** How long it may wait for what is missing. */
  readonly waitMs?: number
  /** What happens when it is dead, or has waited for so long. */
  readonly policy?: 'block' | 'pass' | 'run' | 'dead'
}

/** What is needed of an event to find its place. */
export interface PlaceableEvent extends EnvelopeContent {
  readonly version: OrderText | undefined
  readonly sequence: OrderText | undefined
}

const KEY_LENGTH_MAX = 1_000

/** @throws HookonceError ORDER_INVALID when the event has no place that could be found */
export function placeEvent(order: Order, event: PlaceableEvent): Placement {
  const envelope = createPlainEnvelope(event)
  const lane = laneOf(order, envelope)
  switch (order.mode) {
    case 'fifo':
      return { lane, policy: order.onDead }
    case 'sequence': {
      const number = numberOf(order, event, envelope)
      const { first, gapMs, onGap } = order
      return { lane, number, first, waitMs: gapMs, policy: onGap }
    }
    case 'latest':
      return { lane, place: versionOf(order, event, envelope) }
    case 'after':
      return { lane, place: order.requires, waitMs: order.waitMs, policy: order.onMissing }
  }
}

/** The lane of an event that other events wait for. @throws HookonceError ORDER_INVALID */
export function findLane(order: Order, event: EnvelopeContent): Lane {
  return laneOf(order, createPlainEnvelope(event))
}

function laneOf(order: Order, envelope: WebhookEvent): Lane {
  const key: unknown = ask('lane', () => order.lane(envelope))
  if (typeof key !== 'string' || key === '' || key.length > KEY_LENGTH_MAX) {
    throw new HookonceError(
      'ORDER_INVALID',
      `order.lane must return a text of 1 to ${KEY_LENGTH_MAX} characters, and returned ${describe(key)} for this event`,
    )
  }
  const { source } = envelope
  return { id: laneIdOf(source, order.mode, key), source, mode: order.mode, key }
}

function numberOf(
  order: Extract<Order, { mode: 'sequence' }>,
  event: PlaceableEvent,
  envelope: WebhookEvent,
): number {
  const { sequence } = order
  const given: unknown =
    sequence === undefined
      ? Number(findOrderValue(event.sequence) ?? Number.NaN)
      : ask('sequence', () => sequence(envelope))
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given
  throw new HookonceError(
    'ORDER_INVALID',
    sequence === undefined
      ? 'The sender gave this event no number that is whole and below 2^53: give order.sequence'
      : `order.sequence must return a whole number from 0 on, and returned ${describe(given)} for this event`,
  )
}

function versionOf(
  order: Extract<Order, { mode: 'latest' }>,
  event: PlaceableEvent,
  envelope: WebhookEvent,
): OrderText {
  const { version } = order
  const given: unknown = version === undefined ? undefined : ask('version', () => version(envelope))
  const isUsable = typeof given === 'number' || given instanceof Date
  const text = version === undefined ? event.version : isUsable ? findOrderText(given) : undefined
  // A text that is neither a number nor a time has no order that we know.
  if (text !== undefined && !text.startsWith('x')) return text
  throw new HookonceError(
    'ORDER_INVALID',
    version === undefined
      ? 'The sender gave this event no version that can be compared: give order.version'
      : `order.version must return a number from 0 on or a Date, and returned ${describe(given)} for this event`,
  )
}

function ask(name: string, question: () => unknown): unknown {
  try {
    const answer = question()
    // What an async function was to return is refused as no text and no number. Its rejection would end the process.
    if (answer instanceof Promise) answer.catch(() => undefined)
    return answer
  } catch (thrown) {
    const cause = asError(thrown)
    throw new HookonceError('ORDER_INVALID', `order.${name} threw for this event`, { cause })
  }
}

function describe(value: unknown): string {
  if (typeof value === 'string') return `a text of ${value.length} characters`
  if (typeof value === 'number') return String(value)
  return value === null ? 'null' : typeof value
}
