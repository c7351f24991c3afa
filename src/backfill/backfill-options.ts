import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { BackfillClient } from './backfill-client.ts'

/** What `inbox.backfill` is asked for. */
export interface BackfillOptions {
  /** Who is asked: `githubDeliveries(…)`, `stripeEvents(…)`, `shopifyResources(…)`, or a client of your own. */
  readonly from: BackfillClient
  /** What happened before is left alone. */
  readonly since: Date
  /**
   * What happened later is left alone: it may be on its way.
   *
   * @defaultValue a minute ago
   */
  readonly until?: Date
  /**
   * Types or patterns, such as `invoice.*`.
   *
   * @defaultValue all of them
   */
  readonly types?: readonly string[]
  /**
   * Says what is missing, and takes nothing in.
   *
   * @defaultValue false
   */
  readonly dryRun?: boolean
  /**
   * Goes on where an earlier one stopped: the `cursor` of its report.
   *
   * @defaultValue begins at the beginning
   */
  readonly cursor?: string
  /**
   * Breaks it off. What was taken in stays.
   *
   * @defaultValue it goes on to its end
   */
  readonly signal?: AbortSignal
  /** Why. The audit keeps it; a dry run has no row there. Left out, the audit says nothing of it. */
  readonly reason?: string
  /** Who: a name, or an address. Left out, the audit says nothing of it. */
  readonly actor?: string
}

export interface ResolvedBackfillOptions extends BackfillOptions {
  readonly until: Date
}

const PATH = 'inbox.backfill'
/** A delivery that left a moment ago may not have arrived. */
const ON_ITS_WAY_MS = 60_000

export function resolveBackfillOptions(options: BackfillOptions): ResolvedBackfillOptions {
  rejectUnknownKeys(PATH, options, [
    'from',
    'since',
    'until',
    'types',
    'dryRun',
    'cursor',
    'signal',
    'reason',
    'actor',
  ])
  const { from, since, until = new Date(Date.now() - ON_ITS_WAY_MS), types, dryRun } = options
  if (typeof from?.list !== 'function')
    throw new OptionInvalidError(`${PATH}.from`, 'a client such as githubDeliveries(…)', from)
  requireDate('since', since)
  requireDate('until', until)
  if (since > until)
    throw new OptionInvalidError(`${PATH}.since`, `before until (${until.toISOString()})`, since)
  if (types !== undefined && !(Array.isArray(types) && types.every(isPattern)))
    throw new OptionInvalidError(`${PATH}.types`, 'a list of types such as "invoice.*"', types)
  if (dryRun !== undefined && typeof dryRun !== 'boolean')
    throw new OptionInvalidError(`${PATH}.dryRun`, 'true or false', dryRun)
  if (options.cursor !== undefined && typeof options.cursor !== 'string')
    throw new OptionInvalidError(`${PATH}.cursor`, 'the cursor of a report', options.cursor)
  return { ...options, until }
}

function requireDate(name: string, value: unknown): void {
  if (value instanceof Date && Number.isFinite(value.getTime())) return
  throw new OptionInvalidError(`${PATH}.${name}`, 'a valid Date', value)
}

function isPattern(type: unknown): boolean {
  return typeof type === 'string' && type !== ''
}
