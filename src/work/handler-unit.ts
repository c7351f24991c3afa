/**
 * A handler, and the unit that the handlers of one event make.
 *
 * An event that matches several handlers runs them as one unit: one transaction, one outcome, one
 * count of attempts. What differs between them (timeouts, retry policies) is taken at its strictest.
 *
 * @module
 */

import type { WebhookEvent } from '../model/event.ts'
import type { RetryPolicy } from '../model/retry-policy.ts'
import type { StandardSchema } from '../model/standard-schema.ts'
import type { Order } from '../ordering/order.ts'
import type { Fetch } from './handler-options.ts'
import type { Reconcile } from './steps/step-context.ts'

/** The handlers of one (source, type), run as one. */
export interface HandlerUnit {
  /** The names of its handlers: two types with the same handlers share a unit's group size. */
  readonly name: string
  readonly handlers: readonly Handler[]
  readonly guarantee: 'exactly-once' | 'at-least-once'
  readonly attemptsMax: number
  readonly timeoutMs: number
  readonly groupMax: number
  readonly weight: number
  /** Whether one of them is a step handler, or fetches something. The others then run as a step each. */
  readonly isSteps: boolean
  /** In which order its events run. Two handlers that share an event have one order between them. */
  readonly order: Order | undefined
  /** Orders of the source whose events wait for one of this type. */
  readonly awaitedBy: readonly Order[]
}

export interface Handler {
  readonly name: string
  readonly source: string
  readonly patterns: readonly string[]
  readonly matches: (type: string) => boolean
  readonly guarantee: 'exactly-once' | 'at-least-once'
  readonly schema: StandardSchema | undefined
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly groupMax: number
  readonly weight: number
  readonly run: AnyHandler
  /** Its own, or that of its source. */
  readonly order: Order | undefined
  readonly hasOwnOrder: boolean
  readonly fetch: Fetch | undefined
  /** For a step handler. */
  readonly steps: StepSettings | undefined
}

export interface StepSettings {
  readonly txTimeoutMs: number
  readonly reconcile: Reconcile | undefined
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- handlers of every payload and transaction type live in one list
export type AnyHandler = (event: WebhookEvent<any>, context: any) => unknown

export function createUnit(
  source: string,
  handlers: readonly Handler[],
  awaitedBy: readonly Order[],
): HandlerUnit {
  const isLenient = handlers.every(({ guarantee }) => guarantee === 'at-least-once')
  return {
    name: `${source}: ${handlers.map(({ name }) => name).join(' + ')}`,
    handlers,
    guarantee: isLenient ? 'at-least-once' : 'exactly-once',
    attemptsMax: Math.min(...handlers.map(({ retry }) => retry.attemptsMax)),
    timeoutMs: handlers.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0),
    groupMax: Math.min(...handlers.map(({ groupMax }) => groupMax)),
    weight: Math.max(...handlers.map(({ weight }) => weight)),
    isSteps: handlers.some(({ steps, fetch }) => steps !== undefined || fetch !== undefined),
    order: findOrdered(handlers)?.order,
    awaitedBy,
  }
}

/** The one whose order they have: the one that says it itself goes before those that have it from their source. */
function findOrdered(handlers: readonly Handler[]): Handler | undefined {
  const ordered = handlers.filter(({ order }) => order !== undefined)
  return ordered.find(({ hasOwnOrder }) => hasOwnOrder) ?? ordered[0]
}

/** The one that is to blame for what its unit did, where there is one alone. */
export function findOnlyHandler(unit: HandlerUnit | undefined): Handler | undefined {
  return unit?.handlers.length === 1 ? unit.handlers[0] : undefined
}
