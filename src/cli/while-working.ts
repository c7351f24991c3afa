import { setTimeout as wait } from 'node:timers/promises'
import type { Shell } from './shell.ts'

const TELL_EVERY_MS = 250

/**
 * Does something that takes its time, and tells a person at a terminal how far it is: `412 looked at, 8 s`. Where there
 * is none, nothing is told before the end.
 */
export async function whileWorking<Result>(
  shell: Shell,
  describe: () => string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!shell.isInteractive) return work()
  const over = new AbortController()
  const telling = tell(shell, describe, over.signal)
  try {
    return await work()
  } finally {
    over.abort()
    await telling
    shell.showProgress('')
  }
}

async function tell(shell: Shell, describe: () => string, over: AbortSignal): Promise<void> {
  const startedMs = performance.now()
  while (!over.aborted) {
    const seconds = Math.floor((performance.now() - startedMs) / 1_000)
    shell.showProgress(`${describe()}, ${seconds} s`)
    await wait(TELL_EVERY_MS, undefined, { signal: over }).catch(() => undefined)
  }
}
