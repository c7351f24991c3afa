import type { ClaimedEvent } from '../store/contract.ts'
import type { HandlerUnit } from './handlers.ts'

/**
 * Whether these events may run before their transaction is open.
 *
 * At-least-once handlers have none, and need it only to be settled. Of the others one that runs alone may: what
 * it waits for before it writes is waited for without the writer. Events of step handlers leave their group at
 * once, and several that share a transaction share its savepoints.
 */
export function opensLate(
  chosen: readonly ClaimedEvent[],
  findUnit: (event: ClaimedEvent) => HandlerUnit | undefined,
): boolean {
  const units = chosen.map(findUnit)
  const [first] = units
  if (units.length === 1) return first !== undefined && !first.isSteps
  return units.every((unit) => unit === undefined || unit.guarantee === 'at-least-once')
}
