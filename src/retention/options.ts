import { OptionInvalidError, RetentionTooShortError } from '../errors.ts'
import type { Source } from '../model/source.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'

/** For how many days something is kept, or that it is never pruned. */
export type RetentionDays = number | 'forever'

/**
 * How long things are kept. All of it is for events that have ended: what can still run, waits, is parked or is
 * `dead` is kept, whatever its age. Give every process of one database the same.
 *
 * Days count from the moment at which the latest run of the event ended, by the database's clock. On PostgreSQL a
 * payload leaves together with its week, up to seven days later.
 */
export interface RetentionOptions {
  /**
   * Keys, and how their events ended: for so long the sender's redelivery is known to be a duplicate. It must be at
   * least as long as each source retries by itself, and a person can have it deliver again.
   *
   * @defaultValue 45
   */
  readonly keysDays?: RetentionDays
  /**
   * The body and headers of events that are `done`.
   *
   * @defaultValue 30
   */
  readonly doneDays?: RetentionDays
  /**
   * The body and headers of events that were `skipped`.
   *
   * @defaultValue 30
   */
  readonly skippedDays?: RetentionDays
  /**
   * The body and headers of events that were `discarded`.
   *
   * @defaultValue 30
   */
  readonly discardedDays?: RetentionDays
  /**
   * After so many days a `dead` event is discarded. It can then no longer be retried, and is kept like any other that
   * was discarded.
   *
   * @defaultValue 'forever'
   */
  readonly deadDays?: RetentionDays
  /**
   * The failed attempts of an event, at most as long as its body.
   *
   * @defaultValue 30
   */
  readonly attemptsDays?: RetentionDays
  /**
   * The results of its steps, at most as long as its body.
   *
   * @defaultValue 30
   */
  readonly stepsDays?: RetentionDays
  /**
   * How often it was delivered and when, at most as long as its body.
   *
   * @defaultValue 30
   */
  readonly deliveriesDays?: RetentionDays
  /**
   * Messages that were sent or discarded, from that moment on. Those that are `dead` or `unknown` wait for a person.
   *
   * @defaultValue 30
   */
  readonly messagesDays?: RetentionDays
  /**
   * What operators did, from that moment on. A token is known for as long, and a bulk from when something was last done
   * for it.
   *
   * @defaultValue 365
   */
  readonly auditDays?: RetentionDays
  /**
   * Whether this process prunes by itself, once a day for all processes together.
   *
   * @defaultValue true
   */
  readonly daily?: boolean
}

/** How long things are kept, with the defaults filled in. */
export type RetentionPolicy = Readonly<Required<RetentionOptions>>

/**
 * One number for all sources, so that two processes with different sources on one database cannot disagree: 45 days
 * are enough for Adyen, which retries for 30.
 */
export const RETENTION_DEFAULTS: RetentionPolicy = Object.freeze({
  keysDays: 45,
  doneDays: 30,
  skippedDays: 30,
  discardedDays: 30,
  deadDays: 'forever',
  attemptsDays: 30,
  stepsDays: 30,
  deliveriesDays: 30,
  messagesDays: 30,
  auditDays: 365,
  daily: true,
})

/** What is assumed of a sender that does not say how long it retries. */
const RETRY_WINDOW_HOURS_ASSUMED = 72
/** For how long a person can have a sender deliver again, where the source does not say: GitHub keeps three days. */
const MANUAL_REDELIVERY_HOURS_ASSUMED = 72
/** Nearly fifty years: before 1970 there are no ids to compare with. */
const DAYS_MAX = 18_000

/**
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 * @throws RetentionTooShortError when a source could still deliver what is forgotten
 */
export function resolveRetention(
  options: RetentionOptions,
  sources: ReadonlyMap<string, Source>,
): RetentionPolicy {
  const path = 'createInbox.retention'
  if (typeof options !== 'object' || options === null)
    throw new OptionInvalidError(path, 'an object such as { keysDays: 45 }', options)
  rejectUnknownKeys(path, options, Object.keys(RETENTION_DEFAULTS))
  const policy = { ...RETENTION_DEFAULTS, ...withoutUndefined(options) }
  const { daily, ...days } = policy
  for (const [name, value] of Object.entries(days)) requireDays(`${path}.${name}`, value)
  if (typeof daily !== 'boolean')
    throw new OptionInvalidError(`${path}.daily`, 'true or false', daily)
  for (const [name, source] of sources) requireKeysOutlive(policy.keysDays, name, source)
  return Object.freeze(policy)
}

function withoutUndefined(options: RetentionOptions): RetentionOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

function requireDays(option: string, value: unknown): void {
  if (value === 'forever') return
  const isDays = Number.isSafeInteger(value) && (value as number) >= 1
  if (isDays && (value as number) <= DAYS_MAX) return
  throw new OptionInvalidError(option, `whole days from 1 to ${DAYS_MAX}, or 'forever'`, value)
}

function requireKeysOutlive(keysDays: RetentionDays, source: string, facts: Source): void {
  if (keysDays === 'forever') return
  const { retryWindowHours, manualRedeliveryHours } = facts
  const retriesFor = retryWindowHours ?? RETRY_WINDOW_HOURS_ASSUMED
  const redeliveredFor = manualRedeliveryHours ?? MANUAL_REDELIVERY_HOURS_ASSUMED
  if (keysDays * 24 >= retriesFor + redeliveredFor) return
  throw new RetentionTooShortError({
    option: 'createInbox.retention.keysDays',
    source,
    retentionDays: keysDays,
    retryWindowHours: retriesFor,
    isAssumed: retryWindowHours === null,
    manualRedeliveryHours: redeliveredFor,
  })
}
