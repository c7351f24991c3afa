import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { Message } from '../model/message.ts'
import { resolveRetryPolicy } from '../model/retry-policy.ts'
import type { RetryOptions, RetryPolicy } from '../model/retry-policy.ts'
import { requireSchema } from '../model/standard-schema.ts'
import type { StandardSchema } from '../model/standard-schema.ts'

/** How messages are sent to one destination. Every duration is in milliseconds and says so. */
export interface DestinationOptions<Schema extends StandardSchema = StandardSchema> {
  /**
   * What a payload must be, checked where it is sent: what is not fails the handler for good, and nothing is sent. What
   * the schema puts out is sent. It must be synchronous. Left out, anything that can be written as JSON is taken.
   */
  readonly schema?: Schema
  /**
   * What the other side does with an idempotency key it has seen.
   *
   * - `honoured`: the same key again has no further effect, for `keyLifetimeMs`.
   * - `ignored`: sent twice, it happens twice. What becomes of a message that may have arrived is
   *   decided by `onUncertain`.
   *
   * @defaultValue 'honoured'
   */
  readonly keys?: 'honoured' | 'ignored'
  /**
   * For how long the other side remembers a key, from when it first may have seen it. A message that
   * has been in doubt for longer is not sent again: it becomes `unknown` and waits for a person.
   *
   * @defaultValue 86_400_000
   */
  readonly keyLifetimeMs?: number
  /**
   * What becomes of a message that may have arrived, where keys are ignored.
   *
   * - `ask`: it becomes `unknown` and waits for a person.
   * - `check`: `check(message)` looks whether it arrived, and it is sent again only if it did not.
   * - `resend`: it is sent again and may happen twice; each time a `message.resent` says so.
   *
   * @defaultValue 'ask'
   */
  readonly onUncertain?: 'ask' | 'check' | 'resend'
  /** Looks whether a message has arrived. Needed for `onUncertain: 'check'`, and left out otherwise. */
  readonly check?: CheckMessage
  /**
   * How many messages one relay sends to it at once. Every process has a relay of its own, so that all of
   * them together send as many times that.
   *
   * @defaultValue 10
   */
  readonly concurrency?: number
  /**
   * How many messages a second one relay sends to it; 0 for as many as it can. As with `concurrency`, it is
   * for each process, and not for all of them together.
   *
   * @defaultValue 0
   */
  readonly ratePerSecond?: number
  /**
   * How long one attempt may take, from the first byte sent to the last one read.
   *
   * @defaultValue 15_000
   */
  readonly timeoutMs?: number
  /** When a message that was not taken is sent again, and how often. Left out, as for handlers. */
  readonly retry?: RetryOptions
  /**
   * How often in a row the same answer 500 with the same body may come before the message is dead. Some
   * APIs keep the answer to a key, a failure too, and give it again for as long as they know the key.
   *
   * @defaultValue 8
   */
  readonly sameAnswersMax?: number
  /**
   * How many attempts in a row may get no answer before the destination is left alone, by this
   * relay: those of other processes find out by themselves.
   *
   * @defaultValue 10
   */
  readonly breakerFailures?: number
  /**
   * How long it is left alone then. One message is tried after that, and the rest if it goes through.
   *
   * @defaultValue 30_000
   */
  readonly breakerMs?: number
  /**
   * What becomes of a lane when one of its messages is dead or unknown.
   *
   * - `block`: the messages behind it wait, until an operator confirms, retries or discards it.
   * - `pass`: the next one is sent.
   *
   * @defaultValue 'block'
   */
  readonly onDead?: 'block' | 'pass'
}

/** `unsure`, or an error, has it looked at again later. */
export type CheckMessage = (
  message: Message,
  context: { readonly idempotencyKey: string; readonly signal: AbortSignal },
) => Promise<'arrived' | 'absent' | 'unsure'>

export const DESTINATION_DEFAULTS = Object.freeze({
  keys: 'honoured',
  keyLifetimeMs: 86_400_000,
  onUncertain: 'ask',
  concurrency: 10,
  ratePerSecond: 0,
  timeoutMs: 15_000,
  sameAnswersMax: 8,
  breakerFailures: 10,
  breakerMs: 30_000,
  onDead: 'block',
} as const)

/** What the relay reads. Nothing is optional past this point but the check. */
export interface DestinationPolicy {
  readonly keys: 'honoured' | 'ignored'
  readonly keyLifetimeMs: number
  readonly onUncertain: 'ask' | 'check' | 'resend'
  readonly check: CheckMessage | undefined
  readonly concurrency: number
  readonly ratePerSecond: number
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  readonly sameAnswersMax: number
  readonly breakerFailures: number
  readonly breakerMs: number
  readonly onDead: 'block' | 'pass'
}

/** How long one attempt may take at most: a look before it takes its own time. */
export function attemptMsMax({ timeoutMs, onUncertain }: DestinationPolicy): number {
  return onUncertain === 'check' ? 2 * timeoutMs : timeoutMs
}

export const DESTINATION_OPTION_NAMES = [
  ...Object.keys(DESTINATION_DEFAULTS),
  'check',
  'retry',
  'schema',
]

/** What the relay reads, and what `send` asks before. */
export function resolveDestination(
  path: string,
  given: DestinationOptions,
): { readonly policy: DestinationPolicy; readonly schema: StandardSchema | undefined } {
  rejectUnknownKeys(path, given, DESTINATION_OPTION_NAMES)
  const { schema, ...options } = given
  requireSchema(`${path}.schema`, schema)
  return { policy: resolveDestinationPolicy(path, options), schema }
}

function resolveDestinationPolicy(
  path: string,
  options: Omit<DestinationOptions, 'schema'>,
): DestinationPolicy {
  const { retry = {}, check, ...others } = options
  const policy = Object.freeze({
    ...DESTINATION_DEFAULTS,
    ...others,
    check,
    retry: resolveRetryPolicy(retry),
  })
  requireOneOf(`${path}.keys`, policy.keys, ['honoured', 'ignored'])
  requireOneOf(`${path}.onUncertain`, policy.onUncertain, ['ask', 'check', 'resend'])
  requireInteger(`${path}.keyLifetimeMs`, policy.keyLifetimeMs, { min: 0 })
  requireInteger(`${path}.concurrency`, policy.concurrency, { min: 1, max: 1_000 })
  requireInteger(`${path}.ratePerSecond`, policy.ratePerSecond, { min: 0, max: 1_000_000 })
  requireInteger(`${path}.timeoutMs`, policy.timeoutMs, { min: 1, max: 600_000 })
  requireInteger(`${path}.sameAnswersMax`, policy.sameAnswersMax, { min: 1 })
  requireInteger(`${path}.breakerFailures`, policy.breakerFailures, { min: 1 })
  requireInteger(`${path}.breakerMs`, policy.breakerMs, { min: 1, max: 3_600_000 })
  requireOneOf(`${path}.onDead`, policy.onDead, ['block', 'pass'])
  requireUncertainty(path, policy, options)
  return policy
}

/** An option that does nothing would let its author believe that it does. */
function requireUncertainty(
  path: string,
  { keys, onUncertain, check }: DestinationPolicy,
  given: DestinationOptions,
): void {
  if (keys === 'honoured' && given.onUncertain !== undefined) {
    throw new OptionInvalidError(
      `${path}.onUncertain`,
      "left out where keys are 'honoured': within their lifetime a message is sent again, after it a person decides",
      onUncertain,
    )
  }
  if (keys === 'ignored' && given.keyLifetimeMs !== undefined) {
    throw new OptionInvalidError(
      `${path}.keyLifetimeMs`,
      "left out where keys are 'ignored'",
      given.keyLifetimeMs,
    )
  }
  if ((onUncertain === 'check') !== (typeof check === 'function')) {
    throw new OptionInvalidError(
      `${path}.check`,
      "a function with onUncertain: 'check', and only then",
      check,
    )
  }
}

/** How this process sends messages. */
export interface RelayOptions {
  /**
   * How long a claimed message is this relay's. It bounds how long a message waits after a crash; no
   * attempt is begun that could outlast it, so it must be longer than every destination's `timeoutMs`,
   * and than twice that where a check comes first.
   *
   * @defaultValue 60_000
   */
  readonly leaseMs?: number
  /**
   * How often to look for messages when nothing calls. A handler's messages are called for at once;
   * this is for those written in transactions of your own, and by other processes.
   *
   * @defaultValue 1_000
   */
  readonly pollMs?: number
  /**
   * How long `stop()` waits for what is being sent. What has not ended by then is given up, and its
   * outcome is in doubt.
   *
   * @defaultValue 10_000
   */
  readonly stopGraceMs?: number
}

export const RELAY_DEFAULTS = Object.freeze({
  leaseMs: 60_000,
  pollMs: 1_000,
  stopGraceMs: 10_000,
})

export type ResolvedRelayOptions = Readonly<Required<RelayOptions>>

export function resolveRelayOptions(
  options: RelayOptions,
  destinations: readonly { readonly name: string; readonly policy: DestinationPolicy }[],
): ResolvedRelayOptions {
  rejectUnknownKeys('relay', options, Object.keys(RELAY_DEFAULTS))
  const resolved = Object.freeze({ ...RELAY_DEFAULTS, ...options })
  requireInteger('relay.leaseMs', resolved.leaseMs, { min: 1, max: 3_600_000 })
  requireInteger('relay.pollMs', resolved.pollMs, { min: 1, max: 60_000 })
  requireInteger('relay.stopGraceMs', resolved.stopGraceMs, { min: 0, max: 3_600_000 })
  for (const { name, policy } of destinations) {
    if (attemptMsMax(policy) < resolved.leaseMs) continue
    throw new OptionInvalidError(
      'relay.leaseMs',
      `longer than an attempt at any destination; one at "${name}" may take ${attemptMsMax(policy)} ms`,
      resolved.leaseMs,
    )
  }
  return resolved
}
