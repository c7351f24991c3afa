import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../options/require-integer.ts'
import type { EventsOf, PayloadFor, SourceMap } from '../model/event-types.ts'
import { requireSource } from '../model/require-source.ts'
import { resolveOrder } from '../ordering/order.ts'
import type { LaneOrder, Order } from '../ordering/order.ts'
import { resolveRetryPolicy } from '../model/retry-policy.ts'
import type { RetryOptions } from '../model/retry-policy.ts'

/** What the handlers of an inbox have that do not say otherwise. */
export interface HandlerDefaultOptions<Sources extends SourceMap = SourceMap> {
  /**
   * When a failed event runs again, and how often. A handler's own `retry` goes before it one by one: one that says only
   * `attemptsMax` has the waits of this. Left out, twelve attempts over about three days.
   */
  readonly retry?: RetryOptions
  /**
   * How long one run of a handler of `on` may take.
   *
   * @defaultValue 10_000
   */
  readonly timeoutMs?: number
  /**
   * How long one run of a handler of `steps` may take. Apart from the other: steps wait for the outside, and a time that
   * is right for a transaction would end them in the middle.
   *
   * @defaultValue 300_000
   */
  readonly stepsTimeoutMs?: number
  /**
   * By the name of a source, the order that its events have. A handler's own `order` goes before it, and is
   * `{ mode: 'none' }` for one that needs none. Left out, events run as they come.
   */
  readonly order?: SourceOrders<Sources>
}

/** By the name of a source, in which order its events run. */
export type SourceOrders<Sources extends SourceMap = SourceMap> = {
  readonly [Name in keyof Sources & string]?: LaneOrder<PayloadFor<EventsOf<Sources[Name]>, '*'>>
}

/** @throws OptionInvalidError */
export function requireHandlerDefaults(defaults: HandlerDefaultOptions): HandlerDefaultOptions {
  const path = 'createInbox.handlerDefaults'
  if (typeof defaults !== 'object' || defaults === null)
    throw new OptionInvalidError(path, 'an object with retry and timeoutMs', defaults)
  rejectUnknownKeys(path, defaults, ['retry', 'timeoutMs', 'stepsTimeoutMs', 'order'])
  const { retry, timeoutMs, stepsTimeoutMs } = defaults
  if (retry !== undefined) resolveRetryPolicy(retry)
  for (const [name, value] of Object.entries({ timeoutMs, stepsTimeoutMs }))
    if (value !== undefined) requireInteger(`${path}.${name}`, value, { min: 1, max: HOUR_MS })
  return defaults
}

/** What both kinds of handlers are given. */
interface OwnOptions {
  readonly retry?: RetryOptions
  readonly timeoutMs?: number
}

/** @throws OptionInvalidError; HookonceError with the code SOURCE_UNKNOWN */
export function resolveSourceOrders(
  sources: ReadonlySet<string>,
  orders: SourceOrders = {},
): ReadonlyMap<string, Order> {
  const path = 'createInbox.handlerDefaults.order'
  if (typeof orders !== 'object' || orders === null)
    throw new OptionInvalidError(path, 'an object of orders by the names of sources', orders)
  const resolved = new Map<string, Order>()
  for (const [source, order] of Object.entries(orders)) {
    requireSource(sources, source)
    if (order !== undefined) resolved.set(source, resolveOrder(`${path}.${source}`, order))
  }
  return resolved
}

export function applyHandlerDefaults<Options extends OwnOptions>(
  { retry, timeoutMs }: HandlerDefaultOptions,
  options: Options,
): Options {
  return applyDefaults({ retry, timeoutMs }, options)
}

export function applyStepHandlerDefaults<Options extends OwnOptions>(
  { retry, stepsTimeoutMs: timeoutMs }: HandlerDefaultOptions,
  options: Options,
): Options {
  return applyDefaults({ retry, timeoutMs }, options)
}

function applyDefaults<Options extends OwnOptions>(
  {
    retry,
    timeoutMs,
  }: { readonly retry: RetryOptions | undefined; readonly timeoutMs: number | undefined },
  options: Options,
): Options {
  // What is no object is refused where the options are read.
  if (typeof options !== 'object' || options === null) return options
  return {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...options,
    ...(retry !== undefined && { retry: { ...retry, ...options.retry } }),
  }
}
