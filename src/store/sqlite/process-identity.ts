/**
 * Only SQLite: a worker on PostgreSQL may be on another machine, and is known by its heart alone.
 *
 * @module
 */

import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Who a worker's record belongs to, as far as this machine can tell. */
export interface ProcessIdentity {
  /** With the PID namespace, where there are such: within one host and one of them a process id is one process. */
  readonly hostname: string
  readonly pid: number
}

export function getOwnProcess(): ProcessIdentity {
  return { hostname: getOwnHost(), pid: process.pid }
}

/**
 * Whether a process is known to be gone. Of one on another machine nothing is known, nor of one in another container
 * of a pod: these have one hostname, and ids that say nothing to each other. A process id that was given out again
 * looks alive. Then the worker's heart decides.
 */
export function isGone(identity: ProcessIdentity): boolean {
  if (identity.hostname !== getOwnHost()) return false
  try {
    process.kill(identity.pid, 0)
    return false
  } catch (error) {
    // EPERM says that it exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function getOwnHost(): string {
  ownNamespace ??= findNamespace()
  return ownNamespace === '' ? hostname() : `${hostname()} ${ownNamespace}`
}

/** Such as `pid:[4026531836]`: that of a process stays what it is for as long as it lives. */
let ownNamespace: string | undefined

/** Empty where there is none, which is everywhere but on Linux. */
function findNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
