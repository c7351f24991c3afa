import { findOrderValue } from '../model/order-text.ts'
import type { OrderText } from '../model/order-text.ts'

/** Whether an event is older than what was applied in its lane. Texts of two kinds cannot be compared. */
export function isStale(version: OrderText, applied: OrderText | undefined): applied is OrderText {
  return applied !== undefined && version.startsWith(applied.slice(0, 1)) && version < applied
}

/** Why a stale event is skipped. */
export function describeStale(version: OrderText, applied: OrderText): string {
  return `stale: its version ${findOrderValue(version)} is older than ${findOrderValue(applied)}, which was applied`
}
