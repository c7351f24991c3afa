/**
 * Only SQLite: the files of a server are its own.
 *
 * @module
 */

import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

/** By device and inode. */
const descriptors = new Map<string, number>()

/**
 * A file of SQLite's that is read beside SQLite, and not closed while it has a name.
 *
 * To close a file takes away every POSIX lock that the process has on it: SQLite's
 * connections in this process, the user's own among them, would go on without theirs. So a process opens
 * such a file once, and closes it when no name leads to it any more and its locks matter to none.
 */
export class LastingFile {
  readonly #descriptor: number

  private constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** `undefined` where there is no such file, or none that can be read. */
  static open(path: string): LastingFile | undefined {
    closeUnnamed()
    try {
      const { dev, ino } = statSync(path, { bigint: true })
      const name = `${dev}:${ino}`
      const descriptor = descriptors.get(name) ?? openSync(path, 'r')
      descriptors.set(name, descriptor)
      return new LastingFile(descriptor)
    } catch {
      return undefined
    }
  }

  /** `undefined` where the file ends before, or cannot be read. */
  read(length: number, at = 0): Buffer | undefined {
    const bytes = Buffer.allocUnsafe(length)
    try {
      return readSync(this.#descriptor, bytes, 0, length, at) === length ? bytes : undefined
    } catch {
      return undefined
    }
  }
}

function closeUnnamed(): void {
  for (const [name, descriptor] of descriptors) {
    if (fstatSync(descriptor).nlink > 0) continue
    closeSync(descriptor)
    descriptors.delete(name)
  }
}
