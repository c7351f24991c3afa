/**
 * Which handlers an event has.
 *
 * An event that matches several handlers runs them as one unit: one transaction, one outcome, one
 * count of attempts. What differs between them (timeouts, retry policies) is taken at its strictest.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { WebhookEvent } from '../model/event.ts'
import { resolveOrder } from '../ordering/order.ts'
import type { Order, OrderOptions } from '../ordering/order.ts'
import type { HandledPattern } from '../store/contract/workers.ts'
import { applyHandlerDefaults, applyStepHandlerDefaults } from './handler-defaults.ts'
import type { HandlerDefaultOptions } from './handler-defaults.ts'
import { WEIGHT_MAX } from './options.ts'
import type { Reconcile } from './steps/step-context.ts'
import { requireSource } from '../model/require-source.ts'
import { resolveRetryPolicy } from '../model/retry-policy.ts'
import type { RetryOptions, RetryPolicy } from '../model/retry-policy.ts'
import { requireSchema } from '../model/standard-schema.ts'
import type { StandardSchema } from '../model/standard-schema.ts'
import { createMatcher } from '../model/type-matcher.ts'
import { patternsMeet } from './patterns-meet.ts'

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- options of every payload type are checked by one function
type AnyPayload = any

/** Asks for the current state of what an event is about. */
export type Fetch<Payload = AnyPayload> = (
  event: WebhookEvent<Payload>,
  context: { readonly signal: AbortSignal },
) => unknown

/** How a handler of `on` runs. */
export interface HandlerOptions<Output = unknown, Payload = AnyPayload> {
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
  /**
   * What the payload must be. One that is not is dead at once, with the paths of what is wrong. Left out, nothing
   * is checked.
   */
  readonly schema?: StandardSchema<Output>
  /** When a failed event runs again, and how often. Left out, twelve attempts over about three days. */
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
  /**
   * How much of the worker's time this handler has, against the other handlers of its source, while all of them
   * have events waiting: one of weight 3 has three times as much as one of weight 1.
   *
   * @defaultValue 1
   */
  readonly weight?: number
  /** In which order the events of a lane run. Left out, events run as they come. */
  readonly order?: OrderOptions<Payload>
  /**
   * Asks for the current state of what the event is about, before the transaction opens; the handler gets it as
   * `ctx.fetched`. It has the handler's `timeoutMs`, and if it throws the attempt has failed. Left out, nothing is
   * fetched.
   */
  readonly fetch?: Fetch<Payload>
}

/** How a handler of `steps` runs. */
export interface StepHandlerOptions<Output = unknown, Payload = AnyPayload> extends Pick<
  HandlerOptions<Output, Payload>,
  'name' | 'schema' | 'retry' | 'weight' | 'order' | 'fetch'
> {
  /**
   * How long one run of the handler may take, all its steps together. Its lease is renewed for as long as the
   * process lives, so this is what ends a call that hangs.
   *
   * @defaultValue 300_000
   */
  readonly timeoutMs?: number
  /**
   * How long one `step.tx` may take: then its statement is cancelled in the database and it is rolled back.
   *
   * @defaultValue 10_000
   */
  readonly txTimeoutMs?: number
  /**
   * Asked before a call is made again that an earlier attempt has started and not finished: whether it has
   * happened. Check, then act. Left out, the call is made again with the same key.
   */
  readonly reconcile?: Reconcile
}

export const STEP_HANDLER_DEFAULTS = Object.freeze({
  timeoutMs: 300_000,
  txTimeoutMs: 10_000,
  weight: 1,
} as const)

export const HANDLER_DEFAULTS = Object.freeze({
  guarantee: 'exactly-once',
  timeoutMs: 10_000,
  groupMax: 200,
  weight: 1,
} as const)

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- handlers of every payload and transaction type live in one list
export type AnyHandler = (event: WebhookEvent<any>, context: any) => unknown

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
  readonly order: Order | undefined
  readonly fetch: Fetch | undefined
  /** For a step handler. */
  readonly steps: StepSettings | undefined
}

export interface StepSettings {
  readonly txTimeoutMs: number
  readonly reconcile: Reconcile | undefined
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
  readonly weight: number
  /** Whether one of them is a step handler, or fetches something. The others then run as a step each. */
  readonly isSteps: boolean
  /** In which order its events run. Two handlers that share an event have one order between them. */
  readonly order: Order | undefined
  /** Orders of the source whose events wait for one of this type. */
  readonly awaitedBy: readonly Order[]
}

/** The one that is to blame for what its unit did, where there is one alone. */
export function findOnlyHandler(unit: HandlerUnit | undefined): Handler | undefined {
  return unit?.handlers.length === 1 ? unit.handlers[0] : undefined
}

/** What a source says that the payload of a type must be. */
type FindSchema = (source: string, type: string) => StandardSchema | undefined

interface RegistryTerms {
  readonly defaults?: HandlerDefaultOptions
  readonly findSchema?: FindSchema
  /** What is run in place of a handler, by its name: the same with something around it. */
  readonly wrap?: (name: string, run: AnyHandler) => AnyHandler
}

export class HandlerRegistry {
  readonly #sources: ReadonlySet<string>
  readonly #defaults: HandlerDefaultOptions
  readonly #findSchema: FindSchema
  readonly #wrap: NonNullable<RegistryTerms['wrap']>
  readonly #handlers: Handler[] = []
  /** By source and type; `null` where no handler wants the type. */
  readonly #units = new Map<string, Map<string, HandlerUnit | null>>()

  constructor(
    sources: ReadonlySet<string>,
    { defaults = {}, findSchema = () => undefined, wrap = (_name, run) => run }: RegistryTerms = {},
  ) {
    this.#wrap = wrap
    this.#sources = sources
    this.#defaults = defaults
    this.#findSchema = findSchema
  }

  add(
    source: string,
    types: string | readonly string[],
    given: HandlerOptions,
    run: AnyHandler,
  ): void {
    const options = applyHandlerDefaults(this.#defaults, given)
    this.#add(resolveHandler(this.#sources, { source, types, options, run }), 'on')
  }

  addSteps(
    source: string,
    types: string | readonly string[],
    given: StepHandlerOptions,
    run: AnyHandler,
  ): void {
    const options = applyStepHandlerDefaults(this.#defaults, given)
    this.#add(resolveStepHandler(this.#sources, { source, types, options, run }), 'steps')
  }

  #add(handler: Handler, method: string): void {
    const { source } = handler
    if (this.#handlers.some((other) => other.source === source && other.name === handler.name)) {
      throw new OptionInvalidError(
        `${method}(${JSON.stringify(source)}, …).name`,
        `given, and different, when two handlers of a source share the name "${handler.name}" (idempotency keys are derived from it)`,
        handler.name,
      )
    }
    requireOneOrder(handler, this.#handlers, `${method}(${JSON.stringify(source)}, …).order`)
    this.#handlers.push({ ...handler, run: this.#wrap(handler.name, handler.run) })
    this.#units.clear()
  }

  get isEmpty(): boolean {
    return this.#handlers.length === 0
  }

  /** What there are handlers for, so that other workers know. */
  get handles(): readonly HandledPattern[] {
    return this.#handlers.flatMap(({ source, patterns }) =>
      patterns.map((pattern): HandledPattern => [source, pattern]),
    )
  }

  findUnit(source: string, type: string): HandlerUnit | undefined {
    let types = this.#units.get(source)
    const known = types?.get(type)
    if (known !== undefined) return known ?? undefined
    const schema = this.#findSchema(source, type)
    const handlers = this.#handlers
      .filter((handler) => handler.source === source && handler.matches(type))
      .map((handler) => (handler.schema === undefined ? { ...handler, schema } : handler))
    const awaitedBy = this.#listAwaiting(source, type)
    const unit = handlers.length === 0 ? undefined : createUnit(source, handlers, awaitedBy)
    // A sender may invent types without end; what is remembered may not grow with them.
    if (types === undefined || types.size >= 10_000) {
      types = new Map()
      this.#units.set(source, types)
    }
    types.set(type, unit ?? null)
    return unit
  }

  #listAwaiting(source: string, type: string): readonly Order[] {
    return this.#handlers.flatMap(({ source: its, order }) =>
      its === source && order?.mode === 'after' && order.requires === type ? [order] : [],
    )
  }
}

/** An event that matches several handlers runs them as one, so that it can have one place and no second. */
function requireOneOrder(handler: Handler, others: readonly Handler[], path: string): void {
  const { source, order, patterns } = handler
  if (order === undefined) return
  const meets = others.find(
    (other) =>
      other.source === source &&
      other.order !== undefined &&
      patterns.some((one) => other.patterns.some((two) => patternsMeet(one, two))),
  )
  if (meets === undefined) return
  throw new OptionInvalidError(path, {
    message: `${path}: the handlers "${meets.name}" and "${handler.name}" can get the same event and have an order each. Handlers that share an event run as one: give the order to one of them, or types that do not meet`,
  })
}

interface HandlerInput {
  readonly source: string
  readonly types: string | readonly string[]
  readonly options: HandlerOptions
  readonly run: AnyHandler
}

const OPTION_NAMES = [
  'name',
  'guarantee',
  'schema',
  'retry',
  'timeoutMs',
  'groupMax',
  'weight',
  'order',
  'fetch',
]

function resolveHandler(
  sources: ReadonlySet<string>,
  { source, types, options, run }: HandlerInput,
): Handler {
  requireSource(sources, source)
  const path = `on(${JSON.stringify(source)}, …)`
  rejectUnknownKeys(path, options, OPTION_NAMES)
  return resolveCommon({ source, types, options, run }, path)
}

const STEP_OPTION_NAMES = [
  'name',
  'schema',
  'retry',
  'timeoutMs',
  'txTimeoutMs',
  'reconcile',
  'weight',
  'order',
  'fetch',
]

function resolveStepHandler(
  sources: ReadonlySet<string>,
  { source, types, options, run }: HandlerInput & { readonly options: StepHandlerOptions },
): Handler {
  requireSource(sources, source)
  const path = `steps(${JSON.stringify(source)}, …)`
  rejectUnknownKeys(path, options, STEP_OPTION_NAMES)
  const { txTimeoutMs, reconcile, ...common } = { ...STEP_HANDLER_DEFAULTS, ...options }
  requireInteger(`${path}.txTimeoutMs`, txTimeoutMs, { min: 1, max: 3_600_000 })
  if (reconcile !== undefined && typeof reconcile !== 'function')
    throw new OptionInvalidError(`${path}.reconcile`, 'a function', reconcile)
  const handler = resolveCommon({ source, types, options: common, run }, path)
  return { ...handler, steps: { txTimeoutMs, reconcile } }
}

function resolveCommon({ source, types, options, run }: HandlerInput, path: string): Handler {
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
  const weight = options.weight ?? HANDLER_DEFAULTS.weight
  requireInteger(`${path}.weight`, weight, { min: 1, max: WEIGHT_MAX })
  if (options.name !== undefined && (typeof options.name !== 'string' || options.name === ''))
    throw new OptionInvalidError(`${path}.name`, 'a text that is not empty', options.name)
  requireSchema(`${path}.schema`, options.schema)
  if (options.fetch !== undefined && typeof options.fetch !== 'function')
    throw new OptionInvalidError(`${path}.fetch`, 'a function', options.fetch)
  const { order } = options
  return {
    name: options.name ?? patterns.join(','),
    source,
    patterns,
    matches: createMatcher(patterns),
    guarantee,
    schema: options.schema,
    retry: resolveRetryPolicy(options.retry ?? {}),
    timeoutMs,
    groupMax,
    weight,
    run,
    order: order === undefined ? undefined : resolveOrder(`${path}.order`, order),
    fetch: options.fetch,
    steps: undefined,
  }
}

function createUnit(
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
    order: handlers.find(({ order }) => order !== undefined)?.order,
    awaitedBy,
  }
}
