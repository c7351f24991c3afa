/**
 * What an operator can do to forget: prune under the retention policy, erase what must not be kept.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { EventId } from '../model/event.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { RetentionPolicy } from '../retention/options.ts'
import { NOTHING_REMOVED, prune } from '../retention/prune.ts'
import type { PruneOptions, PruneResult } from '../retention/prune.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { refuseErase } from './erase-result.ts'
import type { EraseResult } from './erase-result.ts'
import { eraseWhere, requirePayloadValue } from './erase-where.ts'
import type { EraseWhere, EraseWhereResult } from './erase-where.ts'
import { requireText } from './require-arguments.ts'

/** What an operator can do to forget. */
export interface RetentionOperator {
  /**
   * Removes what is older than its retention, as the daily run does, and says how much of what. It is refused where it
   * would remove far more than usual, as with a clock that has jumped: `force` does it all the same.
   */
  prune(options?: Omit<PruneOptions, 'signal'>): Promise<PruneActionResult>
  /**
   * Takes the bytes of an event out of every table, for good: body, headers, key, results, errors, and what its
   * messages held. How it ended stays, and a redelivery is still a duplicate. Refused for one that can still run.
   */
  erase(eventId: EventId, options: EraseOptions): Promise<EraseResult>
  /**
   * The same for all events of a source in whose body a value stands at a path such as `$.data.customer.id`. Looks
   * through all bodies of the source, a page at a time.
   */
  eraseWhere(where: EraseWhere, options: EraseWhereOptions): Promise<EraseWhereResult>
}

/** What became of `prune`: as the daily run, or that it is not known how long things are kept. */
export type PruneActionResult =
  | PruneResult
  | (Omit<Extract<PruneResult, { status: 'refused' }>, 'code'> & {
      /** No inbox has written down how long things are kept. */
      readonly code: 'RETENTION_UNKNOWN'
    })

/** Why bytes are erased, and by whom. */
export interface EraseOptions {
  /** Why. It is told with what was done, and must not hold what is erased. */
  readonly reason: string
  /** Who asks for it. Left out, it is not known. */
  readonly actor?: string
}

/** The same, and where to look. */
export interface EraseWhereOptions extends EraseOptions {
  /** Whose events are looked through. */
  readonly source: string
}

export interface RetentionOperatorContext {
  readonly retention: RetentionPolicy | undefined
  readonly happenings: HappeningEmitter | undefined
}

type Act = <Result>(action: (store: Store<unknown>) => Promise<Result>) => Promise<Result>

export function createRetentionOperator(
  act: Act,
  { retention, happenings }: RetentionOperatorContext,
): RetentionOperator {
  const eraseOne = async (
    store: Store<unknown>,
    eventId: EventId,
    { reason, actor }: EraseOptions,
  ): Promise<EraseResult> => {
    const outcome = await store.retention.erase(eventId)
    if (outcome.status !== 'erased') return refuseErase(outcome)
    happenings?.emit('event.erased', { eventId, reason, actor })
    return { status: 'done', eventId }
  }
  return {
    prune: async (options = {}) => {
      requirePruneOptions(options)
      return act(async (store) => {
        const policy = retention ?? (await findPolicy(store))
        if (policy === undefined) return REFUSED_UNKNOWN
        return prune({ store, policy, ...(happenings !== undefined && { happenings }) }, options)
      })
    },
    erase: async (eventId, options) => {
      requireText('erase.eventId', eventId, 'the id of an event')
      requireEraseOptions('erase', options, [])
      return act((store) => eraseOne(store, eventId, options))
    },
    eraseWhere: async (where, options) => {
      const value = requirePayloadValue('eraseWhere', where)
      requireEraseOptions('eraseWhere', options, ['source'])
      requireText('eraseWhere.source', options.source, 'the name of a source')
      return act((store) =>
        eraseWhere(store, {
          ...value,
          source: options.source,
          erase: (eventId) => eraseOne(store, eventId, options),
        }),
      )
    },
  }
}

async function findPolicy(store: Store<unknown>): Promise<RetentionPolicy | undefined> {
  const policy = await store.retention.findPolicy()
  return policy === undefined ? undefined : (JSON.parse(policy) as RetentionPolicy)
}

const REFUSED_UNKNOWN: PruneActionResult = {
  status: 'refused',
  code: 'RETENTION_UNKNOWN',
  reason: 'No inbox has run on this database, so it is not known how long things are kept',
  instead: 'Call inbox.admin.prune() of an inbox with its retention, or leave it to the daily run',
  removed: NOTHING_REMOVED,
}

function requirePruneOptions(options: PruneOptions): void {
  rejectUnknownKeys('admin.prune', options, ['force', 'reason'])
  const { force = false, reason } = options
  if (typeof force !== 'boolean')
    throw new OptionInvalidError('admin.prune.force', 'true or false', force)
  if (force || reason !== undefined)
    requireText('prune.reason', reason, 'a text, where it is forced')
}

function requireEraseOptions(
  action: string,
  options: EraseOptions,
  further: readonly string[],
): void {
  if (typeof options !== 'object' || options === null)
    throw new OptionInvalidError(`admin.${action}`, 'given an object with a reason', options)
  rejectUnknownKeys(`admin.${action}`, options, ['reason', 'actor', ...further])
  requireText(`${action}.reason`, options.reason, 'a text')
  if (options.actor !== undefined) requireText(`${action}.actor`, options.actor, 'a text')
}
