/**
 * Waits for the work, and after `waitMs` goes on without it. Rejects as the work does, until then.
 *
 * For goodbyes: work that no other process needs must not hold up a process that is told to stop. While a
 * database is away each goodbye would wait for its own time-out, one after the other; measured, for more than
 * a minute.
 */
export async function atMost(waitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)))
  try {
    await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}

/** Long enough for any database that answers. */
export const GOODBYE_MS = 3_000

/** How long what was interrupted may take to end: its ROLLBACK, or a last write that says what became of it. */
export const INTERRUPTED_MS = 5_000
