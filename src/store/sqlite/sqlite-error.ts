/**
 * What an error of SQLite means to us, by its primary result code.
 *
 * `node:sqlite` gives the number as `errcode`, libsql as `rawCode`; the low byte is the primary code.
 *
 * @module
 */

import { HookonceError, StoreRejectedError, StoreUnavailableError } from '../../errors.ts'

const BUSY = 5
const LOCKED = 6

/** Codes that blame what was sent: CONSTRAINT, MISMATCH, TOOBIG, RANGE. */
const REJECTED: ReadonlySet<number> = new Set([19, 20, 18, 25])

/** Somebody else has the lock. Waiting helps. */
export function isBusy(error: unknown): boolean {
  const code = findResultCode(error)
  return code === BUSY || code === LOCKED
}

/** Any error of the binding as one of ours. What is not SQLite's stays as it is. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof HookonceError) return error
  const code = findResultCode(error)
  if (code === undefined) return error
  const message = error instanceof Error ? error.message : String(error)
  if (REJECTED.has(code))
    return new StoreRejectedError(`SQLite refused a row: ${message}`, { cause: error })
  return new StoreUnavailableError(`SQLite failed: ${message}`, { cause: error })
}

function findResultCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown }
  const extended = typeof errcode === 'number' ? errcode : rawCode
  return typeof extended === 'number' ? extended & 0xff : undefined
}
