/**
 * What a user says about a handler, checked and complete.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { requireSource } from '../model/require-source.ts'
import { resolveRetryPolicy } from '../model/retry-policy.ts'
import { requireSchema } from '../model/standard-schema.ts'
import { createMatcher } from '../model/type-matcher.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import { resolveOwnOrder } from '../ordering/order.ts'
import type { Order } from '../ordering/order.ts'
import { HANDLER_DEFAULTS, STEP_HANDLER_DEFAULTS } from './handler-options.ts'
import type { HandlerOptions, StepHandlerOptions } from './handler-options.ts'
import type { AnyHandler, Handler } from './handler-unit.ts'
import { WEIGHT_MAX } from './options.ts'

interface HandlerInput {
  readonly source: string
  readonly types: string | readonly string[]
  readonly options: HandlerOptions
  readonly run: AnyHandler
  /** What its events have where it does not say otherwise. */
  readonly sourceOrder?: Order | undefined
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

export function resolveHandler(
  sources: ReadonlySet<string>,
  { options, ...input }: HandlerInput,
): Handler {
  requireSource(sources, input.source)
  const path = `on(${JSON.stringify(input.source)}, …)`
  rejectUnknownKeys(path, options, OPTION_NAMES)
  return resolveCommon({ ...input, options }, path)
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

export function resolveStepHandler(
  sources: ReadonlySet<string>,
  { options, ...input }: HandlerInput & { readonly options: StepHandlerOptions },
): Handler {
  requireSource(sources, input.source)
  const path = `steps(${JSON.stringify(input.source)}, …)`
  rejectUnknownKeys(path, options, STEP_OPTION_NAMES)
  const { txTimeoutMs, reconcile, ...common } = { ...STEP_HANDLER_DEFAULTS, ...options }
  requireInteger(`${path}.txTimeoutMs`, txTimeoutMs, { min: 1, max: 3_600_000 })
  if (reconcile !== undefined && typeof reconcile !== 'function')
    throw new OptionInvalidError(`${path}.reconcile`, 'a function', reconcile)
  const handler = resolveCommon({ ...input, options: common }, path)
  return { ...handler, steps: { txTimeoutMs, reconcile } }
}

function resolveCommon(input: HandlerInput, path: string): Handler {
  const { source, types, options, run, sourceOrder } = input
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
    order: order === undefined ? sourceOrder : resolveOwnOrder(`${path}.order`, order),
    hasOwnOrder: order !== undefined,
    fetch: options.fetch,
    steps: undefined,
  }
}
