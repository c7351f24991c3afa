/**
 * What an error of SQLite means to us, by its primary result code.
 *
 * `node:sqlite` gives the number as `errcode`, libsql as `rawCode`; the low byte is the primary code.
 *
 * @module
 */

import {
  CommitUnknownError,
  HookonceError,
  StoreRejectedError,
  StoreUnavailableError,
} from '../../errors.ts'

const BUSY = 5
const LOCKED = 6

/** What to look at, by primary code: READONLY, IOERR, FULL, CANTOPEN. */
const ADVICE: Readonly<Record<number, string>> = {
  8: 'This process must be allowed to write to the file and to its folder',
  10: 'Look at the disk, at quotas and at limits on the size of files',
  13: 'Make room on the disk',
  14: 'The folder of the file must exist, and this process be allowed to write there',
}

/** Codes that blame what was sent: CONSTRAINT, MISMATCH, TOOBIG, RANGE. */
const REJECTED: ReadonlySet<number> = new Set([19, 20, 18, 25])

/** Another connection has the lock. Waiting helps. */
export function isBusy(error: unknown): boolean {
  const code = findResultCode(error)
  return code === BUSY || code === LOCKED
}

/** Any error of the binding as one of ours. What is not SQLite's stays as it is. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof HookonceError) return error
  const code = findResultCode(error)
  if (code === undefined) return error
  if (REJECTED.has(code))
    return new StoreRejectedError(`SQLite refused a row: ${describe(error)}`, { cause: error })
  return new StoreUnavailableError(`SQLite failed: ${describe(error)}${advise(code)}`, {
    cause: error,
  })
}

/** Of a COMMIT that failed and left no transaction behind: its pages may have reached the disk, or not. */
export function toCommitUnknown(error: unknown): CommitUnknownError {
  return new CommitUnknownError({
    cause: error,
    what: `SQLite failed at COMMIT: ${describe(error)}`,
  })
}

/** In SQLite's words, with its name for it where the binding gives one: `disk I/O error (SQLITE_IOERR_WRITE)`. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  const name = typeof errcode === 'number' ? `code ${errcode}` : code
  return typeof name === 'string' ? `${message} (${name})` : message
}

function advise(code: number): string {
  const advice = ADVICE[code]
  return advice === undefined ? '' : `. ${advice}`
}

function findResultCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown }
  const extended = typeof errcode === 'number' ? errcode : rawCode
  return typeof extended === 'number' ? extended & 0xff : undefined
}
