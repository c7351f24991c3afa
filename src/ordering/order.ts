/**
 * In which order the events of a lane run, as a handler says it.
 *
 * Pure rules: what an order is made of, and what is refused. Stores keep the order (`place-event.ts` says what they
 * are told of each event).
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { WebhookEvent } from '../model/event.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'

/** How the events of a lane follow each other. Without an order events run as they come. */
export type OrderMode = 'fifo' | 'sequence' | 'latest' | 'after'

const ORDER_MODES: readonly OrderMode[] = ['fifo', 'sequence', 'latest', 'after']

interface InLane<Payload> {
  /**
   * Names the lane of an event, such as `customer:${id}`. It must return the same text for the same event each time,
   * at once. Events of one source, one mode and one text share a lane. The payload is as it came: no schema has
   * checked it.
   */
  readonly lane: (event: WebhookEvent<Payload>) => string
}

/** One at a time, in the order in which they were stored. */
export interface FifoOrder<Payload = unknown> extends InLane<Payload> {
  readonly mode: 'fifo'
  /**
   * - `block`: behind a dead event its lane waits, until an operator retries or discards the event.
   * - `pass`: the next one runs.
   *
   * @defaultValue 'block'
   */
  readonly onDead?: 'block' | 'pass'
}

/** One at a time, by numbers without a gap. */
export interface SequenceOrder<Payload = unknown> extends InLane<Payload> {
  readonly mode: 'sequence'
  /** The number of an event. Left out, the one that the sender gives it. */
  readonly sequence?: (event: WebhookEvent<Payload>) => number
  /**
   * The number that a lane begins with.
   *
   * @defaultValue 1
   */
  readonly first?: number
  /** How long a lane waits for a number that is missing. */
  readonly gapMs: number
  /**
   * What happens then to the event behind the gap: it runs, and the lane goes on after it; or it is dead, and a
   * person decides.
   */
  readonly onGap: 'run' | 'dead'
}

/** One at a time; what is older than what was applied is skipped. */
export interface LatestOrder<Payload = unknown> extends InLane<Payload> {
  readonly mode: 'latest'
  /** What rises when the object changes. Left out, the version that the sender gives it. */
  readonly version?: (event: WebhookEvent<Payload>) => number | Date
}

/** Not before an event of another type was done in the same lane. */
export interface AfterOrder<Payload = unknown> extends InLane<Payload> {
  readonly mode: 'after'
  /** The type that comes first, of the same source. It needs a handler, and `lane` is asked for its events as well. */
  readonly requires: string
  /** How long an event waits for it. */
  readonly waitMs: number
  /** What happens then: the event runs all the same, or it is dead, and a person decides. */
  readonly onMissing: 'run' | 'dead'
}

/** As they come, whatever the order of the handler's source is. */
export interface NoOrder {
  readonly mode: 'none'
}

/** An order that the events of a lane can have. */
export type LaneOrder<Payload = unknown> =
  FifoOrder<Payload> | SequenceOrder<Payload> | LatestOrder<Payload> | AfterOrder<Payload>

/** In which order the events of a handler run. */
export type OrderOptions<Payload = unknown> = LaneOrder<Payload> | NoOrder

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- orders of every payload type live in one list
type AnyPayload = any

/** An order with nothing left out. */
export type Order =
  | Required<FifoOrder<AnyPayload>>
  | (Omit<SequenceOrder<AnyPayload>, 'first'> & { readonly first: number })
  | LatestOrder<AnyPayload>
  | AfterOrder<AnyPayload>

const ORDER_DEFAULTS = Object.freeze({ onDead: 'block', first: 1 } as const)

const WAIT_MS_MAX = 30 * 86_400_000

const KEYS: Readonly<Record<OrderMode, readonly string[]>> = {
  fifo: ['mode', 'lane', 'onDead'],
  sequence: ['mode', 'lane', 'sequence', 'first', 'gapMs', 'onGap'],
  latest: ['mode', 'lane', 'version'],
  after: ['mode', 'lane', 'requires', 'waitMs', 'onMissing'],
}

/**
 * What a handler says of its own order; `undefined` where it has none, whatever its source has.
 *
 * @throws OptionInvalidError
 */
export function resolveOwnOrder(
  path: string,
  options: OrderOptions<AnyPayload>,
): Order | undefined {
  requireObject(path, options)
  requireOneOf(`${path}.mode`, options.mode, [...ORDER_MODES, 'none'])
  if (options.mode !== 'none') return resolveOrder(path, options)
  rejectUnknownKeys(path, options, ['mode'])
  return undefined
}

/** @throws OptionInvalidError */
export function resolveOrder(path: string, options: LaneOrder<AnyPayload>): Order {
  requireObject(path, options)
  const { mode, lane } = options
  requireOneOf(`${path}.mode`, mode, ORDER_MODES)
  rejectUnknownKeys(path, options, KEYS[mode])
  requireFunction(`${path}.lane`, lane)
  switch (options.mode) {
    case 'fifo':
      return resolveFifo(path, options)
    case 'sequence':
      return resolveSequence(path, options)
    case 'latest':
      if (options.version !== undefined) requireFunction(`${path}.version`, options.version)
      return Object.freeze({ ...options })
    case 'after':
      return resolveAfter(path, options)
  }
}

function resolveFifo(path: string, options: FifoOrder<AnyPayload>): Order {
  const { onDead = ORDER_DEFAULTS.onDead } = options
  requireOneOf(`${path}.onDead`, onDead, ['block', 'pass'])
  return Object.freeze({ ...options, onDead })
}

function resolveSequence(path: string, options: SequenceOrder<AnyPayload>): Order {
  const { first = ORDER_DEFAULTS.first, gapMs, onGap, sequence } = options
  if (sequence !== undefined) requireFunction(`${path}.sequence`, sequence)
  requireInteger(`${path}.first`, first, { min: 0 })
  requireInteger(`${path}.gapMs`, gapMs, { min: 0, max: WAIT_MS_MAX })
  requireOneOf(`${path}.onGap`, onGap, ['run', 'dead'])
  return Object.freeze({ ...options, first })
}

function resolveAfter(path: string, options: AfterOrder<AnyPayload>): Order {
  const { requires, waitMs, onMissing } = options
  if (typeof requires !== 'string' || requires === '' || requires.includes('*'))
    throw new OptionInvalidError(`${path}.requires`, 'one type of event, no pattern', requires)
  requireInteger(`${path}.waitMs`, waitMs, { min: 0, max: WAIT_MS_MAX })
  requireOneOf(`${path}.onMissing`, onMissing, ['run', 'dead'])
  return Object.freeze({ ...options })
}

function requireObject(path: string, options: unknown): void {
  if (typeof options === 'object' && options !== null) return
  throw new OptionInvalidError(path, 'an order, such as { mode: "fifo", lane }', options)
}

function requireFunction(path: string, value: unknown): void {
  if (typeof value !== 'function')
    throw new OptionInvalidError(path, 'a function of the event', value)
}
