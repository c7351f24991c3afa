import { runBackfill } from '../backfill/backfill.ts'
import type { BackfillReport } from '../backfill/backfill.ts'
import { resolveBackfillOptions } from '../backfill/backfill-options.ts'
import type { BackfillOptions } from '../backfill/backfill-options.ts'
import { requireSource } from '../model/require-source.ts'
import { createMatcher } from '../model/type-matcher.ts'
import type { ReceiveContext } from '../receive/receive.ts'
import { takeIn } from '../receive/take-in.ts'
import type { Store } from '../store/contract/store.ts'

export interface BackfillParts {
  readonly context: ReceiveContext
  readonly store: Store<unknown>
  /** Opens the store, if it is not open yet. */
  readonly open: () => Promise<void>
}

/** Asks the sender what it has sent, and takes in what the inbox lacks. */
export async function backfill(
  { context, store, open }: BackfillParts,
  sourceName: string,
  options: BackfillOptions,
): Promise<BackfillReport> {
  requireSource(context.sources, sourceName)
  const resolved = resolveBackfillOptions(options)
  await open()
  const matches = resolved.types === undefined ? () => true : createMatcher(resolved.types)
  const isKnown = async (key: string): Promise<boolean> => {
    const events = await store.operators.listEventsByKey(sourceName, key)
    return events.length > 0
  }
  return runBackfill(
    {
      matches,
      isKnown,
      takeIn: async (delivery) => {
        const recorded = await takeIn(context, sourceName, delivery)
        return recorded.some(({ status }) => status !== 'duplicate')
      },
    },
    resolved,
  )
}
