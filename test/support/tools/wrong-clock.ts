/**
 * Processes whose wall clock is wrong, by `libfaketime`. Their timers keep real time.
 *
 * @module
 */

import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'

export type Environment = Readonly<Record<string, string>>

/** Whether this machine has no `faketime`; the setup has said so. */
export const hasNoFaketime = inject('tools').faketime === null

/** The environment of a process whose clock is off by so much. */
export function withClockOff(offMs: number): Environment {
  return { ...preload(), FAKETIME: describeOffset(offMs) }
}

export interface SettableClock {
  /** The environment of the processes that go by this clock. */
  readonly env: Environment
  /** Sets the clock of all of them, so far off, from now on. */
  set(offMs: number): void
}

/** A clock that is right until it is set, while the processes that go by it run. */
export function createSettableClock(): SettableClock {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-clock-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  // A database server may run as another user.
  chmodSync(dir, 0o755)
  const file = join(dir, 'offset')
  const set = (offMs: number): void => {
    writeFileSync(`${file}.draft`, describeOffset(offMs))
    renameSync(`${file}.draft`, file)
  }
  set(0)
  return { env: { ...preload(), FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }, set }
}

function preload(): Environment {
  const { faketime } = inject('tools')
  if (faketime === null) throw new Error('There is no faketime; the test should have been skipped')
  return { LD_PRELOAD: faketime, FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' }
}

function describeOffset(offMs: number): string {
  return `${offMs < 0 ? '' : '+'}${offMs / 1_000}s`
}
