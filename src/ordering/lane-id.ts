import { digestOfParts, uuidOf } from '../model/digest.ts'
import type { OrderMode } from './order.ts'

/** Half a SHA-256, written as a UUID: both stores have a column for that. */
export type LaneId = string

/**
 * The mode is part of it: rows of two modes have nothing by which they could be compared. Two lanes do not collide by
 * chance in 128 bits, so that the row of a lane is its lock.
 */
export function laneIdOf(source: string, mode: OrderMode, key: string): LaneId {
  return uuidOf(digestOfParts('lane', source, mode, key))
}
