/**
 * What a slot asks of the store when it claims a group.
 *
 * @module
 */

import type { ClaimRequest } from '../store/contract/queue.ts'
import type { WorkerSlot } from '../store/contract/workers.ts'
import { ENOUGH } from './agenda.ts'
import type { Plan } from './agenda.ts'
import type { HandlerUnit } from './handler-unit.ts'

/**
 * Inside a group a handler may wait this long for a row that another transaction holds before the group is
 * made smaller.
 */
const GROUP_LOCK_TIMEOUT_MS = 50
/** The database ends a transaction that has been idle for the handler's time and this much more. */
const IDLE_MARGIN_MS = 1_000

export function createClaim(
  slot: WorkerSlot,
  kind: ClaimRequest['kind'],
  topics: Plan['topics'],
): ClaimRequest {
  const timeouts = topics.map(({ due }) => due.unit.timeoutMs)
  const unit = topics[0]?.due.unit
  return {
    slot,
    kind,
    topics: topics.map(({ topic, limit }) => ({ topic, limit })),
    enough: ENOUGH,
    fillsLanes: runsInOrder(unit),
    lockTimeoutMs: GROUP_LOCK_TIMEOUT_MS,
    idleTimeoutMs: Math.max(1, ...timeouts) + IDLE_MARGIN_MS,
    opensLate: opensLate(unit),
  }
}

/**
 * A handler that runs alone, and one that promises nothing, may wait for the outside world before it needs the
 * database. In a group each is quick, and the next one waits for it.
 */
function opensLate(unit: HandlerUnit | undefined): ClaimRequest['opensLate'] {
  if (unit === undefined || unit.isSteps) return 'never'
  return unit.guarantee === 'at-least-once' ? 'always' : 'alone'
}

/** Whether the events of a group run one after the other. */
function runsInOrder(unit: HandlerUnit | undefined): boolean {
  return unit !== undefined && !unit.isSteps && unit.guarantee === 'exactly-once'
}
