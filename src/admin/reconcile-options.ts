import { OptionInvalidError } from '../errors.ts'
import type { WebhookEvent } from '../model/event.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'

/** What `inbox.reconcile` is asked for. */
export interface ReconcileOptions<Tx, Payload = unknown, Name extends string = string> {
  /** Events that were stored before, by the database's clock, are left alone. */
  readonly since: Date
  /**
   * Events that were stored later are left alone.
   *
   * @defaultValue now
   */
  readonly until?: Date
  /**
   * The name of a source.
   *
   * @defaultValue all of them
   */
  readonly source?: Name
  /**
   * Types or patterns, such as `invoice.*`.
   *
   * @defaultValue all of them
   */
  readonly types?: readonly string[]
  /**
   * Whether the effect of the event is there: `true` or `false`, and nothing else counts. `tx` reads your tables, in a
   * transaction in which nothing can be written. What it throws is told of this event, and the others go on.
   */
  readonly exists: (event: WebhookEvent<Payload>, tx: Tx) => boolean | Promise<boolean>
  /**
   * Replays the events whose effect is missing, for this reason.
   *
   * @defaultValue they are listed
   */
  readonly rerun?: ReconcileRerun
  /**
   * Breaks it off between two events. What was replayed stays.
   *
   * @defaultValue it goes on to its end
   */
  readonly signal?: AbortSignal
}

/** Why events are replayed, and on whose behalf. Both are kept in the audit. */
export interface ReconcileRerun {
  /** Why. */
  readonly reason: string
  /** Who: a name, or an address. Left out, the audit says nothing of it. */
  readonly actor?: string
}

const PATH = 'inbox.reconcile'

/** @throws OptionInvalidError for an option that is unknown or cannot be used */
export function requireReconcileOptions(options: ReconcileOptions<never, never>): void {
  if (typeof options !== 'object' || options === null)
    throw new OptionInvalidError(PATH, 'given an object with since and exists', options)
  rejectUnknownKeys(PATH, options, [
    'since',
    'until',
    'source',
    'types',
    'exists',
    'rerun',
    'signal',
  ])
  const { since, until, source, types, exists, rerun } = options
  requireDate('since', since)
  if (until !== undefined) requireDate('until', until)
  if (until !== undefined && since > until)
    throw new OptionInvalidError(`${PATH}.since`, `before until (${until.toISOString()})`, since)
  if (source !== undefined && typeof source !== 'string')
    throw new OptionInvalidError(`${PATH}.source`, 'the name of a source, or left out', source)
  if (types !== undefined && !(Array.isArray(types) && types.every(isPattern)))
    throw new OptionInvalidError(`${PATH}.types`, 'a list of types such as "invoice.*"', types)
  if (typeof exists !== 'function')
    throw new OptionInvalidError(`${PATH}.exists`, 'a function of an event and a tx', exists)
  if (rerun !== undefined) requireRerun(rerun)
}

function requireRerun(rerun: ReconcileRerun): void {
  if (typeof rerun !== 'object' || rerun === null)
    throw new OptionInvalidError(`${PATH}.rerun`, '{ reason } that says why, or left out', rerun)
  rejectUnknownKeys(`${PATH}.rerun`, rerun, ['reason', 'actor'])
  if (typeof rerun.reason !== 'string' || rerun.reason === '')
    throw new OptionInvalidError(`${PATH}.rerun.reason`, 'a text that says why', rerun.reason)
}

function requireDate(name: string, value: unknown): void {
  if (value instanceof Date && Number.isFinite(value.getTime())) return
  throw new OptionInvalidError(`${PATH}.${name}`, 'a valid Date', value)
}

function isPattern(type: unknown): boolean {
  return typeof type === 'string' && type !== ''
}
