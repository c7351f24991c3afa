import { digestBytes, digestOfParts } from '../model/digest.ts'
import type { OrderMode } from './order.ts'

/** Half a SHA-256, written as a UUID: both stores have a column for that. */
export type LaneId = string

/**
 * The mode is part of it: rows of two modes have nothing by which they could be compared. Two lanes do not collide by
 * chance in 128 bits, so that the row of a lane is its lock.
 */
export function laneIdOf(source: string, mode: OrderMode, key: string): LaneId {
  const hex = digestBytes(digestOfParts('lane', source, mode, key)).toString('hex', 0, 16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}
