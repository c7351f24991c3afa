/**
 * Which handlers an event has.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { StandardSchema } from '../model/standard-schema.ts'
import type { Order } from '../ordering/order.ts'
import type { HandledPattern } from '../store/contract/workers.ts'
import {
  applyHandlerDefaults,
  applyStepHandlerDefaults,
  resolveSourceOrders,
} from './handler-defaults.ts'
import type { HandlerDefaultOptions } from './handler-defaults.ts'
import type { HandlerOptions, StepHandlerOptions } from './handler-options.ts'
import { createUnit } from './handler-unit.ts'
import type { AnyHandler, Handler, HandlerUnit } from './handler-unit.ts'
import { patternsMeet } from './patterns-meet.ts'
import { resolveHandler, resolveStepHandler } from './resolve-handler.ts'

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
  readonly #orders: ReadonlyMap<string, Order>
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
    this.#orders = resolveSourceOrders(sources, defaults.order)
    this.#findSchema = findSchema
  }

  add(
    source: string,
    types: string | readonly string[],
    given: HandlerOptions,
    run: AnyHandler,
  ): void {
    const options = applyHandlerDefaults(this.#defaults, given)
    const sourceOrder = this.#orders.get(source)
    this.#add(resolveHandler(this.#sources, { source, types, options, run, sourceOrder }), 'on')
  }

  addSteps(
    source: string,
    types: string | readonly string[],
    given: StepHandlerOptions,
    run: AnyHandler,
  ): void {
    const options = applyStepHandlerDefaults(this.#defaults, given)
    const sourceOrder = this.#orders.get(source)
    this.#add(
      resolveStepHandler(this.#sources, { source, types, options, run, sourceOrder }),
      'steps',
    )
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
      .map((handler) => withoutOwnWait(handler, type))
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
    const awaiting = this.#handlers.flatMap(({ source: its, order }) =>
      its === source && order?.mode === 'after' && order.requires === type ? [order] : [],
    )
    // Those that have it from their source have the same one.
    return [...new Set(awaiting)]
  }
}

/** What others wait for does not wait for its own kind: of the first there would never be one before it. */
function withoutOwnWait(handler: Handler, type: string): Handler {
  const { order } = handler
  const isAwaited = order?.mode === 'after' && order.requires === type
  return isAwaited ? { ...handler, order: undefined } : handler
}

/** An event that matches several handlers runs them as one, so that it can have one place and no second. */
function requireOneOrder(handler: Handler, others: readonly Handler[], path: string): void {
  const { source, order, hasOwnOrder, patterns } = handler
  if (order === undefined || !hasOwnOrder) return
  const meets = others.find(
    (other) =>
      other.source === source &&
      other.order !== undefined &&
      other.hasOwnOrder &&
      patterns.some((one) => other.patterns.some((two) => patternsMeet(one, two))),
  )
  if (meets === undefined) return
  throw new OptionInvalidError(path, {
    message: `${path}: the handlers "${meets.name}" and "${handler.name}" can get the same event and have an order each. Handlers that share an event run as one: give the order to one of them, or types that do not meet`,
  })
}
