/**
 * How long something keeps the processor busy.
 *
 * The time of the process, and not of the clock: a machine with other work to do makes a call take longer,
 * and not more. What is compared runs in turns, so that whatever slows one round slows all of it, and the
 * middle of several rounds counts, so that a compilation or a collection of garbage in one of them does not.
 *
 * @module
 */

export type Work = () => unknown

/** The milliseconds of each piece of work, in their order. */
export async function measureCpuMs(
  works: readonly Work[],
  { rounds = 5 }: { readonly rounds?: number } = {},
): Promise<readonly number[]> {
  const taken = works.map((): number[] => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, work] of works.entries()) taken[index]?.push(await cpuMsOf(work))
  }
  return taken.map(medianOf)
}

/** The milliseconds of one piece of work, run once. */
export async function cpuMsOf(work: Work): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
