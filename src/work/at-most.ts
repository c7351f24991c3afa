/**
 * Resolves when the work has ended, well or badly, or after `waitMs` without it.
 *
 * For goodbyes: what nobody misses must not keep a process that is told to stop. While a database is away
 * each of them would wait for its own time-out, one after the other; measured, for more than a minute.
 */
export async function atMost(waitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)))
  await Promise.race([work.catch(() => undefined), over])
  clearTimeout(timer)
}

/** Long enough for any database that answers. */
export const GOODBYE_MS = 3_000
