import { onTestFinished, vi } from 'vitest'

export interface MovedClock {
  forward(ms: number): void
  /** From now on only `forward` moves it. */
  stop(): void
  goOn(): void
  restore(): void
}

/** The monotonic clock of this process, and what is added to it: for what shall not depend on a busy machine. */
export function moveClock(): MovedClock {
  let added = 0
  let stoppedAt: number | undefined
  const realNow = performance.now.bind(performance)
  const now = (): number => (stoppedAt ?? realNow()) + added
  const spy = vi.spyOn(performance, 'now').mockImplementation(now)
  const restore = (): void => spy.mockRestore()
  onTestFinished(restore)
  return {
    forward: (ms) => void (added += ms),
    stop: () => void (stoppedAt ??= realNow()),
    goOn: () => {
      added -= realNow() - (stoppedAt ?? realNow())
      stoppedAt = undefined
    },
    restore,
  }
}
