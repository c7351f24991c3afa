import { asError } from '../../errors.ts'
import type { CrashAt } from './crash-plan.ts'
import type { Crash } from './crash-plan.ts'
import { ALL_CRASH_POINTS, CRASH_POINTS } from './crash-points.ts'
import type { CrashPoint } from './crash-points.ts'

/** What a process is killed in: a `TestInbox`. */
export interface CrashSubject {
  readonly crashAt: CrashAt
  crashes(): readonly Crash[]
  close(): Promise<void>
}

/** Kills the process wherever it can die. */
export const crashAt = Object.freeze({
  /** All points, for `test.each(crashAt.points)`. */
  points: ALL_CRASH_POINTS,
  each: crashAtEach,
})

/**
 * Runs a test once without a crash, then once for each point with a process that dies there, each time with an inbox of
 * its own. Points that no event of the test comes to are left out.
 *
 * @param make - makes the inbox, on a database that is empty
 * @param test - delivers, lets all of it run (`drain`), and looks
 * @returns the points at which the process died
 * @throws Error with every point at which the test failed, and what it said
 */
async function crashAtEach<Subject extends CrashSubject>(
  make: () => Promise<Subject>,
  test: (subject: Subject, point: CrashPoint | undefined) => unknown,
): Promise<readonly CrashPoint[]> {
  const whole = await runOne(make, test, undefined)
  if (whole.error !== undefined) throw failure('Already without a crash', whole.error)
  const reached: CrashPoint[] = []
  const failures: Error[] = []
  for (const point of ALL_CRASH_POINTS) {
    const { hasDied, error } = await runOne(make, test, point)
    if (hasDied) reached.push(point)
    if (error !== undefined)
      failures.push(failure(`When the process dies at "${point}" (${CRASH_POINTS[point]})`, error))
  }
  if (reached.length === 0)
    throw new Error(
      'No event came to any point. Do: deliver in the test, and call t.drain() after it',
    )
  const [first] = failures
  if (first === undefined) return reached
  if (failures.length === 1) throw first
  throw new Error(failures.map(({ message }) => message).join('\n\n'), { cause: first })
}

async function runOne<Subject extends CrashSubject>(
  make: () => Promise<Subject>,
  test: (subject: Subject, point: CrashPoint | undefined) => unknown,
  point: CrashPoint | undefined,
): Promise<{ readonly hasDied: boolean; readonly error: Error | undefined }> {
  const subject = await make()
  try {
    if (point !== undefined) subject.crashAt(point)
    await test(subject, point)
    return { hasDied: subject.crashes().length > 0, error: undefined }
  } catch (error) {
    return { hasDied: subject.crashes().length > 0, error: asError(error) }
  } finally {
    await subject.close()
  }
}

function failure(when: string, cause: Error): Error {
  return new Error(`${when}:\n${cause.message}`, { cause })
}
