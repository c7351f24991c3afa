import { lowestIdAt } from '../model/id-range.ts'
import type { Unfinished } from '../model/unfinished.ts'
import type { Store } from '../store/contract/store.ts'

/** Of each thing: a look at the start of every process must cost next to nothing. */
const COUNTED_MAX = 1_000
/** A worker beats at least once a second. */
const SILENT_MS = 5_000

/** What earlier processes have left, or what does not go on by itself. */
export async function collectUnfinished({
  stats,
}: Pick<Store<unknown>, 'stats'>): Promise<Unfinished> {
  const found = await stats.findUnfinished({ most: COUNTED_MAX, silentMs: SILENT_MS })
  if (found.wentBack === undefined) return { ...found, wentBack: undefined }
  const { since, until } = found.wentBack
  const range = { from: lowestIdAt(since.getTime()), below: lowestIdAt(until.getTime()) }
  const { lookedAt } = await stats.countReceived(range, undefined, COUNTED_MAX)
  const received = { count: lookedAt, isExact: lookedAt < COUNTED_MAX }
  return { ...found, wentBack: { since, until, received } }
}
