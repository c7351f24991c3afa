/**
 * Which handlers an event has.
 *
 * An event that matches several handlers runs them as one unit: one transaction, one outcome, one
 * count of attempts. What differs between them (timeouts, retry policies) is taken at its strictest.
 *
 * @module
 */

import {
  HookonceError,
  OptionInvalidError,
  rejectUnknownKeys,
  requireInteger,
  requireOneOf,
} from '../errors.ts'
import type { WebhookEvent } from '../model/event.ts'
import type { HandlerContext } from './handler-context.ts'
import { resolveRetryPolicy } from './retry-policy.ts'
import type { RetryOptions, RetryPolicy } from './retry-policy.ts'
import type { StandardSchema } from './standard-schema.ts'

export interface HandlerOptions<Output = unknown> {
  /**
   * Tells the handler's idempotency keys apart from those of another handler for the same types, and
   * must not change while events are on their way. Needed only when two handlers share source and types.
   *
   * @defaultValue the types, joined by commas
   */
  readonly name?: string
  /**
   * - `exactly-once`: what the handler writes through `tx` and the fact "done" commit together.
   * - `at-least-once`: no `tx`; the handler may run again after a crash. For work that may happen twice.
   *
   * @defaultValue 'exactly-once'
   */
  readonly guarantee?: 'exactly-once' | 'at-least-once'
  /** What the payload must be. One that is not is dead at once, with the paths of what is wrong. */
  readonly schema?: StandardSchema<Output>
  /** When a failed event runs again, and how often. */
  readonly retry?: RetryOptions
  /**
   * How long one run may take: then its signal aborts, its statement is cancelled in the database and
   * its transaction rolled back.
   *
   * @defaultValue 10_000
   */
  readonly timeoutMs?: number
  /**
   * The most events of this handler that share a transaction. 1 for a handler that needs `SET`, or
   * that must not wait for its neighbours.
   *
   * @defaultValue 200
   */
  readonly groupMax?: number
}

export const HANDLER_DEFAULTS = Object.freeze({
  guarantee: 'exactly-once',
  timeoutMs: 10_000,
  groupMax: 200,
} as const)

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- handlers of every payload and transaction type live in one list
export type AnyHandler = (event: WebhookEvent<any>, context: HandlerContext<any>) => unknown

export interface Handler {
  readonly name: string
  readonly source: string
  readonly matches: (type: string) => boolean
  readonly guarantee: 'exactly-once' | 'at-least-once'
  readonly schema: StandardSchema | undefined
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly groupMax: number
  readonly run: AnyHandler
}

/** The handlers of one (source, type), run as one. */
export interface HandlerUnit {
  /** The names of its handlers: two types with the same handlers share a unit's group size. */
  readonly name: string
  readonly handlers: readonly Handler[]
  readonly guarantee: 'exactly-once' | 'at-least-once'
  readonly attemptsMax: number
  readonly timeoutMs: number
  readonly groupMax: number
}

export class HandlerRegistry {
  readonly #sources: ReadonlySet<string>
  readonly #handlers: Handler[] = []
  readonly #units = new Map<string, HandlerUnit | undefined>()

  constructor(sources: ReadonlySet<string>) {
    this.#sources = sources
  }

  add(
    source: string,
    types: string | readonly string[],
    options: HandlerOptions,
    run: AnyHandler,
  ): void {
    const handler = resolveHandler(this.#sources, { source, types, options, run })
    if (this.#handlers.some((other) => other.source === source && other.name === handler.name)) {
      throw new OptionInvalidError(
        `on(${JSON.stringify(source)}, …).name`,
        `given, and different, when two handlers of a source share the name "${handler.name}" (idempotency keys are derived from it)`,
        options.name,
      )
    }
    this.#handlers.push(handler)
    this.#units.clear()
  }

  get isEmpty(): boolean {
    return this.#handlers.length === 0
  }

  findUnit(source: string, type: string): HandlerUnit | undefined {
    // Types come from senders: the separator cannot occur in a source's name, which is ours.
    const key = `${source}\u0000${type}`
    if (this.#units.has(key)) return this.#units.get(key)
    const handlers = this.#handlers.filter(
      (handler) => handler.source === source && handler.matches(type),
    )
    const unit = handlers.length === 0 ? undefined : createUnit(source, handlers)
    // A sender may invent types without end; the cache may not grow with them.
    if (this.#units.size >= 10_000) this.#units.clear()
    this.#units.set(key, unit)
    return unit
  }
}

interface HandlerInput {
  readonly source: string
  readonly types: string | readonly string[]
  readonly options: HandlerOptions
  readonly run: AnyHandler
}

const OPTION_NAMES = ['name', 'guarantee', 'schema', 'retry', 'timeoutMs', 'groupMax']

function resolveHandler(
  sources: ReadonlySet<string>,
  { source, types, options, run }: HandlerInput,
): Handler {
  if (!sources.has(source)) {
    throw new HookonceError(
      'SOURCE_UNKNOWN',
      `There is no source "${source}". Configured: ${[...sources].join(', ') || 'none'}`,
    )
  }
  const path = `on(${JSON.stringify(source)}, …)`
  rejectUnknownKeys(path, options, OPTION_NAMES)
  if (typeof run !== 'function') throw new OptionInvalidError(`${path}.handler`, 'a function', run)
  const patterns = typeof types === 'string' ? [types] : types
  if (
    !Array.isArray(patterns) ||
    patterns.length === 0 ||
    patterns.some((p) => typeof p !== 'string' || p === '')
  ) {
    throw new OptionInvalidError(
      `${path}.types`,
      'a type, a pattern such as "invoice.*", or a list of them',
      types,
    )
  }
  const guarantee = options.guarantee ?? HANDLER_DEFAULTS.guarantee
  const timeoutMs = options.timeoutMs ?? HANDLER_DEFAULTS.timeoutMs
  const groupMax = options.groupMax ?? HANDLER_DEFAULTS.groupMax
  requireOneOf(`${path}.guarantee`, guarantee, ['exactly-once', 'at-least-once'])
  requireInteger(`${path}.timeoutMs`, timeoutMs, { min: 1, max: 3_600_000 })
  requireInteger(`${path}.groupMax`, groupMax, { min: 1, max: 1_000 })
  if (options.schema !== undefined && typeof options.schema['~standard']?.validate !== 'function') {
    throw new OptionInvalidError(
      `${path}.schema`,
      'a Standard Schema (Zod, Valibot, ArkType, …)',
      options.schema,
    )
  }
  return {
    name: options.name ?? patterns.join(','),
    source,
    matches: createMatcher(patterns),
    guarantee,
    schema: options.schema,
    retry: resolveRetryPolicy(options.retry ?? {}),
    timeoutMs,
    groupMax,
    run,
  }
}

/** `*` stands for any text, dots included; everything else for itself. */
function createMatcher(patterns: readonly string[]): (type: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')))
  const globs = patterns
    .filter((pattern) => pattern.includes('*'))
    .map((pattern) => pattern.split('*'))
  return (type) => exact.has(type) || globs.some((parts) => matchesGlob(type, parts))
}

/** Left to right, each part as early as possible: linear, where a regular expression could be made to backtrack. */
function matchesGlob(text: string, parts: readonly string[]): boolean {
  const first = parts[0] as string
  const last = parts[parts.length - 1] as string
  if (text.length < first.length + last.length) return false
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  const until = text.length - last.length
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from)
    if (at === -1 || at + part.length > until) return false
    from = at + part.length
  }
  return true
}

function createUnit(source: string, handlers: readonly Handler[]): HandlerUnit {
  const isLenient = handlers.every(({ guarantee }) => guarantee === 'at-least-once')
  return {
    name: `${source}: ${handlers.map(({ name }) => name).join(' + ')}`,
    handlers,
    guarantee: isLenient ? 'at-least-once' : 'exactly-once',
    attemptsMax: Math.min(...handlers.map(({ retry }) => retry.attemptsMax)),
    timeoutMs: handlers.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0),
    groupMax: Math.min(...handlers.map(({ groupMax }) => groupMax)),
  }
}
