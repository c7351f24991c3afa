import { z } from 'zod'
import type { BulkRecord, PlannedBulk } from '../../../index.ts'
import { instant, orNull } from '../wire.ts'
import { eventSummary } from './events.ts'

const text = z.string()
const count = z.int().min(0)

export const plannedBulk: z.ZodType<PlannedBulk> = z
  .object({
    id: text,
    count,
    isComplete: z.boolean(),
    sample: z.array(eventSummary),
  })
  .meta({ id: 'PlannedBulk' })

export const bulkRecord: z.ZodType<BulkRecord> = z
  .object({
    id: text,
    action: z.enum(['retry', 'replay', 'release', 'discard']),
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
