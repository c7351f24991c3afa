import { requireOrder } from '../admin/action-options.ts'
import { runBackfill } from '../backfill/backfill.ts'
import type { BackfillReport } from '../backfill/backfill.ts'
import { resolveBackfillOptions } from '../backfill/backfill-options.ts'
import type { BackfillOptions } from '../backfill/backfill-options.ts'
import { requireSource } from '../model/require-source.ts'
import { createMatcher } from '../model/type-matcher.ts'
import type { ReceiveContext } from '../receive/receive.ts'
import { draftGiven, takeIn } from '../receive/take-in.ts'
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
  const { reason, actor } = options
  const order = requireOrder('backfill', {
    ...(reason !== undefined && { reason }),
    ...(actor !== undefined && { actor }),
  })
  await open()
  const matches = resolved.types === undefined ? () => true : createMatcher(resolved.types)
  const isKnown = (key: string): Promise<boolean> =>
    store.events.knowsKey({ source: sourceName, key })
  const isWritten = resolved.dryRun !== true
  const auditId = isWritten ? await store.operators.beginBackfill(sourceName, order) : undefined
  const report = await runBackfill(
    {
      matches,
      isKnown,
      keysIn: (delivery) => draftGiven(context, sourceName, delivery).map(({ key }) => key),
      isMissing: async (delivery) => {
        for (const { key = '', keyHash: hash } of draftGiven(context, sourceName, delivery))
          if (!(await store.events.knowsKey({ source: sourceName, key, hash }))) return true
        return false
      },
      takeIn: async (delivery) => {
        const recorded = await takeIn(context, sourceName, delivery)
        return recorded.some(({ status }) => status !== 'duplicate')
      },
    },
    resolved,
  )
  if (auditId !== undefined) {
    const { listed, known, missing, failed, isComplete } = report
    const outcome = { status: 'done', listed, known, missing, failed, isComplete }
    await store.operators.endBackfill(auditId, outcome)
    const subject = { kind: 'source', id: sourceName } as const
    context.happenings.emit('operator.acted', { action: 'backfill', subject, actor, reason })
  }
  return report
}
