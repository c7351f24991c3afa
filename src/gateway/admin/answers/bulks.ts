import { z } from 'zod'
import type { BulkAction, BulkRecord, PlannedBulk } from '../../../index.ts'
import { instant, orNull } from '../wire.ts'
import { eventSummary, messageSummary } from './events.ts'

const text = z.string()
const count = z.int().min(0)

/** All of them: an action that is missing here does not compile. */
const ACTIONS: Readonly<Record<BulkAction, true>> = {
  retry: true,
  replay: true,
  release: true,
  discard: true,
  forget: true,
  retryMessage: true,
  discardMessage: true,
}

export const plannedBulk: z.ZodType<PlannedBulk> = z
  .object({
    id: text,
    count,
    isComplete: z.boolean(),
    sample: z.array(eventSummary),
    messages: z.array(messageSummary),
  })
  .meta({ id: 'PlannedBulk' })

export const bulkRecord: z.ZodType<BulkRecord> = z
  .object({
    id: text,
    action: z.enum(Object.keys(ACTIONS) as BulkAction[]),
    state: z.enum(['planning', 'planned', 'aborted']),
    reason: orNull(text),
    actor: orNull(text),
    terms: orNull(z.object({ freshKeys: z.boolean(), onlyIfNotApplied: z.boolean() })),
    filter: text,
    createdAt: instant,
    planned: count,
    done: count,
    refused: z.record(text, count),
    left: count,
  })
  .meta({ id: 'BulkRecord' })
