import { asError, OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { requireInteger } from '../../options/require-integer.ts'
import type { CrashAt } from './crash-plan.ts'
import type { Crash } from './crash-plan.ts'
import { ALL_CRASH_POINTS, CRASH_POINTS } from './crash-points.ts'
import type { CrashPoint } from './crash-points.ts'

/** What a process is killed in: a `TestInbox`. */
export interface CrashSubject {
  readonly crashAt: CrashAt
  crashes(): readonly Crash[]
  visits(): ReadonlyMap<CrashPoint, number>
  close(): Promise<void>
}

/** How often the process is killed. */
export interface CrashEachOptions {
  /**
   * At how many of its visits to a point the process is killed, from the first on. Left out, at every one, and a test
   * that comes to more than 100 is refused.
   */
  readonly visitsMax?: number
}

/** Kills the process wherever it can die. */
export const crashAt = Object.freeze({
  /** All points, for `test.each(crashAt.points)`. */
  points: ALL_CRASH_POINTS,
  each: crashAtEach,
})

/** A death takes a run of the whole test, and most runners end a test after a few seconds. */
const VISITS_ALL_MAX = 100

/** The how manieth visit to a point. */
interface Visit {
  readonly point: CrashPoint
  readonly nth: number
}

type CrashTest<Subject> = (subject: Subject, point: CrashPoint | undefined) => unknown

/**
 * Runs a test once without a crash, and counts how often the process comes to each point. Then it runs the test once for
 * each of these visits, with a process that dies there, each time with an inbox of its own: at the second event, the
 * second handler and the second step as well as at the first.
 *
 * @param make - makes the inbox, on a database that is empty
 * @param test - delivers, lets all of it run (`drain`), and looks
 * @returns the points at which the process died
 * @throws Error with every point at which the test failed, and what it said; also with every visit that did not come
 *   again, since the process has not died there
 * @throws OptionInvalidError when there are more than 100 visits, and `visitsMax` does not say how many to take
 */
async function crashAtEach<Subject extends CrashSubject>(
  make: () => Promise<Subject>,
  test: CrashTest<Subject>,
  options: CrashEachOptions = {},
): Promise<readonly CrashPoint[]> {
  rejectUnknownKeys('crashAt.each', options, ['visitsMax'])
  if (options.visitsMax !== undefined)
    requireInteger('crashAt.each.visitsMax', options.visitsMax, { min: 1 })
  const whole = await runOne(make, test, undefined)
  if (whole.error !== undefined) throw failure('Already without a crash', whole.error)
  const visits = listVisits(whole.visits, options)
  if (visits.length === 0)
    throw new Error(
      'No event came to any point. Do: deliver in the test, and call t.drain() after it',
    )
  const reached = new Set<CrashPoint>()
  const missed: Visit[] = []
  const failures = new Map<CrashPoint, { readonly first: Error; readonly visits: number[] }>()
  for (const visit of visits) {
    const { point, nth } = visit
    const { hasDied, error } = await runVisit(make, test, visit)
    if (hasDied) reached.add(point)
    // The test holds then, since nothing has happened to it.
    if (!hasDied && error === undefined) missed.push(visit)
    if (error === undefined) continue
    const known = failures.get(point)
    if (known !== undefined) known.visits.push(nth)
    else failures.set(point, { first: failure(describe(visit), error), visits: [] })
  }
  throwFailures([...failures.values()], missed)
  return ALL_CRASH_POINTS.filter((point) => reached.has(point))
}

/** @throws OptionInvalidError when there are too many */
function listVisits(
  visits: ReadonlyMap<CrashPoint, number>,
  { visitsMax }: CrashEachOptions,
): readonly Visit[] {
  const list = ALL_CRASH_POINTS.flatMap((point) => {
    const count = Math.min(visits.get(point) ?? 0, visitsMax ?? Infinity)
    return Array.from({ length: count }, (_, at) => ({ point, nth: at + 1 }))
  })
  if (visitsMax !== undefined || list.length <= VISITS_ALL_MAX) return list
  const most = [...visits].map(([point, count]) => `${point} ${count}`).join(', ')
  throw new OptionInvalidError('crashAt.each.visitsMax', {
    message: `crashAt.each: the process comes to a point ${list.length} times in this test, and would be killed at each, with a run of the test for it: ${most}. Deliver less, or say at how many visits to each point it is killed: crashAt.each(make, test, { visitsMax: 3 })`,
  })
}

/** Once more where the process did not come there: on a busy machine events may be grouped otherwise than in the first run. */
async function runVisit<Subject extends CrashSubject>(
  make: () => Promise<Subject>,
  test: CrashTest<Subject>,
  visit: Visit,
): ReturnType<typeof runOne> {
  for (let tries = 1; ; tries += 1) {
    const end = await runOne(make, test, visit)
    if (end.hasDied || end.error !== undefined || tries === TRIES_MAX) return end
  }
}

const TRIES_MAX = 3

async function runOne<Subject extends CrashSubject>(
  make: () => Promise<Subject>,
  test: CrashTest<Subject>,
  visit: Visit | undefined,
): Promise<{
  readonly hasDied: boolean
  readonly visits: ReadonlyMap<CrashPoint, number>
  readonly error: Error | undefined
}> {
  const subject = await make()
  const end = (error: Error | undefined) => ({
    hasDied: subject.crashes().length > 0,
    visits: subject.visits(),
    error,
  })
  try {
    if (visit !== undefined) subject.crashAt(visit.point, { nth: visit.nth })
    await test(subject, visit?.point)
    return end(undefined)
  } catch (error) {
    return end(asError(error))
  } finally {
    await subject.close()
  }
}

function describe({ point, nth }: Visit): string {
  const when = CRASH_POINTS[point]
  return nth === 1
    ? `When the process dies at "${point}" (${when})`
    : `When the process dies the ${ordinal(nth)} time that it comes to "${point}" (${when})`
}

function ordinal(nth: number): string {
  const ending = ['th', 'st', 'nd', 'rd'][nth % 100 > 10 && nth % 100 < 14 ? 0 : nth % 10]
  return `${nth}${ending ?? 'th'}`
}

function failure(when: string, cause: Error): Error {
  return new Error(`${when}:\n${cause.message}`, { cause })
}

/** Of each point the first failure, since the others say the same. */
function throwFailures(
  failures: readonly { readonly first: Error; readonly visits: readonly number[] }[],
  missed: readonly Visit[],
): void {
  if (failures.length === 0 && missed.length === 0) return
  const messages = failures.map(({ first: { message }, visits }) =>
    visits.length === 0
      ? message
      : `${message}\nThe test also fails when it dies there the ${visits.map(ordinal).join(', ')} time.`,
  )
  if (missed.length > 0) messages.push(describeMissed(missed))
  throw new Error(messages.join('\n\n'), { cause: failures[0]?.first.cause })
}

function describeMissed(missed: readonly Visit[]): string {
  const lines = missed.map(
    ({ point, nth }) =>
      `"${point}" was not reached for the ${ordinal(nth)} time: the test does not take the same way each time.`,
  )
  return [
    ...lines,
    'Without a crash the process came there. In the run in which it was to die there it did not, so that this death was not tried.',
    'Do: find what differs between two runs, such as deliveries at once (`parallel`), a random value, or something outside of the inbox that the first run has left; or take only the first visits: { visitsMax: 1 }.',
  ].join('\n')
}
