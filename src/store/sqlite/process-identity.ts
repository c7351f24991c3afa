/**
 * Only SQLite: a worker on PostgreSQL may be on another machine, and is known by its heart alone.
 *
 * @module
 */

import { hostname } from 'node:os'

/** Who a worker's record belongs to, as far as this machine can tell. */
export interface ProcessIdentity {
  readonly hostname: string
  readonly pid: number
}

export function getOwnProcess(): ProcessIdentity {
  return { hostname: hostname(), pid: process.pid }
}

/**
 * Whether a process is known to be gone. Of one on another machine nothing is known. A process id
 * that was given out again looks alive; then the worker's heart decides.
 */
export function isGone(identity: ProcessIdentity): boolean {
  if (identity.hostname !== hostname()) return false
  try {
    process.kill(identity.pid, 0)
    return false
  } catch (error) {
    // EPERM says that it exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
