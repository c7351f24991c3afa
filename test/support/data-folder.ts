/**
 * Where the databases of tests have their files: in memory, where the machine has room for them there.
 *
 * A test kills processes, and never the machine: what a process has written is with the kernel by then, on a disk as
 * in memory. So a test shows the same on both, and waits for a disk on one. Measured with 694 tests of both stores on
 * two quiet cores: 46.7 s on the disk, 40.3 s in memory.
 *
 * Only runs of Vitest choose memory. `npm run bench` and `npm run crash` are about a real disk.
 *
 * @module
 */

import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const VARIABLE = 'TEST_DATA_FOLDER'
const MEMORY = '/dev/shm'
/** A whole run has used less than one; containers often have 64 MB there. */
const FREE_BYTES_MIN = 4 * 1024 ** 3

/** The folder for the files of databases. Said by `TEST_DATA_FOLDER`, or the system's temporary one. */
export function findDataFolder(): string {
  return process.env[VARIABLE] ?? tmpdir()
}

/** For this process and those that it starts, unless it was said. */
export function preferMemory(): void {
  if (process.env[VARIABLE] === undefined && hasRoom()) process.env[VARIABLE] = MEMORY
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= FREE_BYTES_MIN
  } catch {
    // Only Linux has it.
    return false
  }
}
