/**
 * Disks that can be filled, and files that can be made read-only under the processes that have them open. Both
 * are for root alone, and not possible in every container. Where they are not, the tests that need them say that
 * they are skipped.
 *
 * @module
 */

import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface SmallDisk {
  readonly dir: string
  /** Leaves no room for anything. */
  fill(): void
  /** Gives that room back. */
  free(): void
}

/** Whether no disk can be mounted here. */
export const hasNoSmallDisk = !canMount()
/** Whether no file can be made read-only for a process that has it open. */
export const hasNoLockedFiles = !canLock()

if (hasNoSmallDisk || hasNoLockedFiles)
  console.warn(
    '\n*** No disk can be filled or made read-only here. The tests of that are SKIPPED. ***\n',
  )

/** In memory, for the length of the running test. `uid` is who may write to it. */
export function mountSmallDisk(bytes: number, uid = process.getuid?.() ?? 0): SmallDisk {
  const dir = mkdtempSync('/tmp/hookonce-disk-')
  mount(dir, bytes, uid)
  onTestFinished(() => {
    run('umount', ['-l', dir])
    rmSync(dir, { recursive: true, force: true })
  })
  const filler = join(dir, 'filler')
  return {
    dir,
    fill: () => {
      const file = openSync(filler, 'a')
      for (const size of [65_536, 4_096, 1]) writeUntilFull(file, Buffer.alloc(size))
      closeSync(file)
    },
    free: () => rmSync(filler, { force: true }),
  }
}

/** From now on nothing can be written to these files, by no process, until they are unlocked. */
export function lockFiles(files: readonly string[]): () => void {
  run('chattr', ['+i', ...files])
  const unlock = () => run('chattr', ['-i', ...files])
  onTestFinished(() => void unlock())
  return () => void unlock()
}

function writeUntilFull(file: number, bytes: Buffer): void {
  try {
    for (;;) writeSync(file, bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

function canMount(): boolean {
  if (process.getuid?.() !== 0) return false
  const dir = mkdtempSync('/tmp/hookonce-disk-')
  const isMounted = mount(dir, 65_536, 0)
  if (isMounted) run('umount', [dir])
  rmSync(dir, { recursive: true, force: true })
  return isMounted
}

function canLock(): boolean {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-disk-'))
  const file = join(dir, 'file')
  const opened = openSync(file, 'w')
  try {
    if (!run('chattr', ['+i', file])) return false
    writeSync(opened, 'x')
    return false
  } catch {
    return true
  } finally {
    run('chattr', ['-i', file])
    closeSync(opened)
    rmSync(dir, { recursive: true, force: true })
  }
}

function mount(dir: string, bytes: number, uid: number): boolean {
  return run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},uid=${uid},mode=0700`, 'tmpfs', dir])
}

function run(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}
