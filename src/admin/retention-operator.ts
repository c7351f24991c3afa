/**
 * What an operator can do to forget: prune under the retention policy, and erase what must not be kept.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { EventId } from '../model/event.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { RetentionPolicy } from '../retention/options.ts'
import { NOTHING_REMOVED, prune } from '../retention/prune.ts'
import type { Pruned } from '../retention/prune.ts'
import type { PruneCounts } from '../store/contract/retention.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { actOnEvent } from './act-on-event.ts'
import type { EventActionContext } from './act-on-event.ts'
import { requireOrder, requireReason } from './action-options.ts'
import type { ActionOptions, ReasonedActionOptions } from './action-options.ts'
import type { ActionRefused, EventActionResult } from './action-result.ts'
import { eraseWhere, requireEraseWhere } from './erase-where.ts'
import type { EraseWhere, EraseWhereResult } from './erase-where.ts'
import { refuse } from './refusals.ts'
import { requireText } from './require-arguments.ts'

/** What an operator can do to forget. */
export interface RetentionOperator {
  /**
   * Removes what is older than its retention, as the daily run does, and says how much of what. It is refused where it
   * would remove far more than usual, as with a clock that has jumped: `force` does it all the same, and needs a
   * reason. A call that is made again with the token of a run that was interrupted goes on with it.
   */
  prune(options?: PruneOptions): Promise<PruneResult>
  /**
   * Takes the bytes of an event out of every table, for good: body, headers, key, results, errors, and what its
   * messages held. How it ended stays, and a redelivery is still a duplicate. Refused for one that can still run.
   */
  erase(eventId: EventId, options: ReasonedActionOptions): Promise<EventActionResult>
  /**
   * The same for all events of a source in whose payload a value stands at a path such as `$.data.customer.id`. Looks
   * at every event there is, a page at a time, as `list` does.
   */
  eraseWhere(where: EraseWhere, options: EraseWhereOptions): Promise<EraseWhereResult>
}

/** How things are pruned, by whom and why. */
export interface PruneOptions extends ActionOptions {
  /**
   * Whether to remove what is far more than usual. Needs a `reason`.
   *
   * @defaultValue false
   */
  readonly force?: boolean
}

/** What became of `prune`. */
export type PruneResult =
  | { readonly status: 'done'; readonly removed: PruneCounts }
  | (ActionRefused & {
      /** What was removed before it was refused. */
      readonly removed: PruneCounts
    })

/**
 * Why bytes are erased, by whom, and where to look. The reason must not hold what is erased: the audit keeps it. Each
 * event is erased under a token of its own, which is the given one with the id of the event.
 */
export interface EraseWhereOptions extends ReasonedActionOptions {
  /** Whose events are looked through. */
  readonly source: string
}

export interface RetentionOperatorContext extends EventActionContext {
  /** How long things are kept. Left out, what the inbox that ran last has written down. */
  readonly retention?: RetentionPolicy
  readonly happenings?: HappeningEmitter
}

export function createRetentionOperator(
  context: RetentionOperatorContext,
): Omit<RetentionOperator, 'erase'> {
  const { act } = context
  return {
    prune: async (options = {}) => pruneNow(context, options),
    eraseWhere: async (where, options) => {
      requireReason('eraseWhere', options)
      const { source, ...rest } = options
      requireText('eraseWhere.source', source, 'the name of a source')
      const query = requireEraseWhere(where, source)
      const { token, ...order } = requireOrder('eraseWhere', rest)
      const erase = (eventId: EventId): Promise<EventActionResult> => {
        const own = token === undefined ? undefined : `${token} ${eventId}`
        return actOnEvent(context, { action: 'erase', eventId, ...order, token: own })
      }
      return act(({ search }) => eraseWhere(search, query, erase))
    },
  }
}

async function pruneNow(
  { act, retention, happenings, onActed }: RetentionOperatorContext,
  options: PruneOptions,
): Promise<PruneResult> {
  rejectUnknownKeys('admin.prune', options, ['force', 'reason', 'actor', 'token'])
  const { force = false, ...rest } = options
  if (typeof force !== 'boolean')
    throw new OptionInvalidError('admin.prune.force', 'true or false', force)
  if (force) requireReason('prune', rest)
  const order = requireOrder('prune', rest)
  const pruned = await act(async (store): Promise<Pruned> => {
    // For a pruner without an inbox, as a process does that was started.
    if (retention !== undefined) await store.retention.keepPolicy(JSON.stringify(retention))
    const policy = retention ?? (await findPolicy(store))
    if (policy === undefined)
      return { status: 'refused', code: 'RETENTION_UNKNOWN', removed: NOTHING_REMOVED }
    return prune({ store, policy, ...(happenings && { happenings }) }, { force, order })
  })
  const { removed } = pruned
  if (pruned.status === 'refused') {
    const { code, excess } = pruned
    const refused = refuse('prune', code)
    return { ...refused, ...(excess !== undefined && { reason: `${excess}.` }), removed }
  }
  const { actor, reason } = order
  onActed({ action: 'prune', subject: { kind: 'retention', id: 'all' }, actor, reason })
  return { status: 'done', removed }
}

async function findPolicy(store: Store<unknown>): Promise<RetentionPolicy | undefined> {
  const policy = await store.retention.findPolicy()
  return policy === undefined ? undefined : (JSON.parse(policy) as RetentionPolicy)
}
