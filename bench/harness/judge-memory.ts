import { medianOf } from './measure-ratio.ts'
import type { Figures } from './measurement.ts'

/**
 * The most that was held, and whether it grows: the last fifth of the run against the second. The first is left out,
 * because what Node compiles and sets up grows for a while in any program.
 *
 * @param samples - bytes, in their order and equally far apart
 */
export function judgeMemory(samples: readonly number[]): Figures {
  if (samples.length === 0) return {}
  const fifth = Math.max(1, Math.floor(samples.length / 5))
  const early = samples.length < 3 ? samples : samples.slice(fifth, 2 * fifth)
  return {
    'memory MB': Math.max(...samples) / 2 ** 20,
    'memory late/early': medianOf(samples.slice(-fifth)) / medianOf(early),
  }
}
