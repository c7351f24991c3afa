import type { Pool } from 'pg'
import type { Shape } from './drain-config.ts'

const GIVE_UP_MS = 180_000
const LOOK_EVERY_MS = 10

/**
 * Resolves when every effect is committed, for peers that do not say so themselves; looks only once
 * the handlers have been called often enough, so that looking costs the run nothing. Gives up without
 * an error: what is missing is counted as lost.
 */
export async function untilEffects(
  pool: Pool,
  { shape, events, mayBeDone }: { shape: Shape; events: number; mayBeDone: () => boolean },
): Promise<void> {
  const count =
    shape === 'row'
      ? 'select count(*)::integer as n from effect'
      : 'select sum(amount)::integer as n from balance'
  const giveUpAt = performance.now() + GIVE_UP_MS
  while (performance.now() < giveUpAt) {
    if (mayBeDone()) {
      const { rows } = await pool.query<{ n: number }>(count)
      if ((rows[0]?.n ?? 0) >= events) return
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
