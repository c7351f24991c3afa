/**
 * Whether a run would remove far more than is usual, as it would with a clock that has jumped ahead.
 *
 * A run that comes once a day, or takes a week at a time, removes that much of what is kept: a thirtieth of thirty
 * days, a fifth of five weeks. Far more is three times that, at least a fifth of what is there, and also more than
 * twice what the runs of late have removed, and than a handful. After a pause of more than a week it is not known
 * what is usual, nor whether that week has passed or the clock has jumped: then a fifth is enough.
 *
 * The same rule is in the function `prune()` of PostgreSQL (`store/postgres/sql/prune.ts`).
 *
 * @module
 */

import type { PruneRun, PruneShare, PruneSurvey } from '../store/contract/retention.ts'
import { DAY_MS } from './limits.ts'

const SHARE_MAX = 0.2
const TIMES_EXPECTED = 3
const TIMES_USUAL = 2
const HANDFUL = 1_000
const PAUSE_MS_MAX = 8 * DAY_MS
/** So that what was usual a month ago no longer is: half of it is left after a week. */
const FADES_TO_A_DAY = 0.9

/** What is unusual, in words; `undefined` when nothing is. */
export function findExcess({ nowMs, last, events, keys }: PruneSurvey): string | undefined {
  const pauseMs = nowMs - last.atMs
  const isKnown = pauseMs >= 0 && pauseMs <= PAUSE_MS_MAX
  const since = isKnown
    ? ''
    : `, and the database's clock says that the last run was ${Math.round(pauseMs / DAY_MS)} days ago`
  if (isKnown ? isFarMore(events, last.usualEvents) : isMuch(events, 0))
    return `${events.old} of ${events.there} events would lose their payload${since}`
  if (isKnown ? isFarMore(keys, last.usualKeys) : isMuch(keys, 0))
    return `${keys.old} of ${keys.there} events would lose their key${since}`
  return undefined
}

function isFarMore(share: PruneShare, usual: number): boolean {
  const { old, expected } = share
  return old > Math.max(HANDFUL, usual * TIMES_USUAL) && isMuch(share, expected * TIMES_EXPECTED)
}

function isMuch({ there, old }: PruneShare, share: number): boolean {
  return old > there * Math.max(SHARE_MAX, share)
}

/** What the next run compares itself with. */
export function nextUsual(
  { nowMs, last }: PruneSurvey,
  removed: { readonly events: number; readonly keys: number },
): PruneRun {
  const fades = FADES_TO_A_DAY ** (Math.max(0, nowMs - last.atMs) / DAY_MS)
  const usual = (before: number, now: number) => Math.ceil(Math.max(before * fades, now))
  return {
    atMs: nowMs,
    usualEvents: usual(last.usualEvents, removed.events),
    usualKeys: usual(last.usualKeys, removed.keys),
  }
}
