import { OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { requireInteger } from '../../options/require-integer.ts'
import { CRASH_POINTS } from './crash-points.ts'
import type { CrashPoint } from './crash-points.ts'

/** A death of the process. */
export interface Crash {
  readonly point: CrashPoint
  /** What was true then, in words. */
  readonly when: string
}

/** Which time that the process comes to a point it dies. */
export interface CrashOptions {
  /**
   * The how manieth time.
   *
   * @defaultValue 1
   */
  readonly nth?: number
}

/** Lets the process die the next time that it comes to a point. */
export type CrashAt = (point: CrashPoint, options?: CrashOptions) => void

/** Where the process is to die, and where it has. */
export class CrashPlan {
  readonly happened: Crash[] = []
  /** How often the process has come to each point. */
  readonly visits = new Map<CrashPoint, number>()
  readonly #armed = new Map<CrashPoint, number>()

  /** @throws OptionInvalidError for a point that there is none of */
  arm(point: CrashPoint, options: CrashOptions = {}): void {
    if (!Object.hasOwn(CRASH_POINTS, point))
      throw new OptionInvalidError(
        'crashAt',
        `one of ${Object.keys(CRASH_POINTS).join(', ')}`,
        point,
      )
    rejectUnknownKeys('crashAt', options, ['nth'])
    const { nth = 1 } = options
    requireInteger('crashAt.nth', nth, { min: 1 })
    this.#armed.set(point, nth)
  }

  /** The process has come to a point, and does not die there. */
  note(point: CrashPoint): void {
    this.visits.set(point, (this.visits.get(point) ?? 0) + 1)
  }

  isArmed(point: CrashPoint): boolean {
    return this.#armed.has(point)
  }

  /** Whether the process dies now that it has come to the point. */
  take(point: CrashPoint): boolean {
    this.note(point)
    const left = this.#armed.get(point)
    if (left === undefined) return false
    if (left > 1) {
      this.#armed.set(point, left - 1)
      return false
    }
    this.#armed.delete(point)
    this.happened.push({ point, when: CRASH_POINTS[point] })
    return true
  }
}
