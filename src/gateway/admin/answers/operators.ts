/**
 * What operators did and what became of it, as the admin API shows it.
 *
 * A refused action is no answer of its own here: it is a problem with status 409 or 422 (`problem.ts`).
 *
 * @module
 */

import { z } from 'zod'
import type {
  AuditRecord,
  EraseWhereResult,
  PauseRecord,
  PruneCounts,
  SecretUse,
} from '../../../index.ts'
import { EVENT_STATES, REFUSAL_CODES } from '../../../index.ts'
import { instant, orNull } from '../wire.ts'

const text = z.string()
const count = z.int().min(0)

export const done = z.object({ status: z.literal('done') }).meta({ id: 'Done' })

export const eventActionDone = z
  .object({
    status: z.literal('done'),
    eventId: text,
    run: count,
    state: z.enum(EVENT_STATES),
    redeliverFrom: z
      .exactOptional(instant)
      .describe('With `forget`: from when on a redelivery is sure to be a new event.'),
  })
  .meta({ id: 'EventActionDone' })

const refusal = z.object({
  status: z.literal('refused'),
  code: z.enum(REFUSAL_CODES),
  reason: text,
  instead: text,
})

export const auditRecord: z.ZodType<AuditRecord> = z
  .object({
    id: text,
    at: instant,
    actor: orNull(text),
    action: text,
    subject: z.object({
      kind: z.enum([
        'event',
        'message',
        'bulk',
        'retention',
        'token',
        'source',
        'handler',
        'destination',
        'lane',
      ]),
      id: text,
    }),
    reason: orNull(text),
    token: orNull(text),
    outcome: z.record(text, z.unknown()),
  })
  .meta({ id: 'AuditRecord' })

const PAUSE = { name: text, reason: orNull(text), actor: orNull(text), pausedAt: instant }

export const pauseRecord: z.ZodType<PauseRecord> = z
  .union([
    z.object({ kind: z.enum(['source', 'handler', 'destination']), ...PAUSE }),
    z.object({ kind: z.literal('lane'), source: text, ...PAUSE }),
  ])
  .meta({ id: 'PauseRecord' })

const pruneCounts: z.ZodType<PruneCounts> = z
  .object({
    events: count,
    requests: count,
    attempts: count,
    steps: count,
    deliveries: count,
    messages: count,
    runs: count,
    audit: count,
    bulks: count,
    keys: count,
    lanes: count,
    outcomes: count,
    discarded: count,
    partitions: count,
  })
  .meta({ id: 'PruneCounts' })

export const pruned = z
  .object({ status: z.literal('done'), removed: pruneCounts })
  .meta({ id: 'Pruned' })

export const erasedWhere: z.ZodType<EraseWhereResult> = z
  .object({
    status: z.literal('done'),
    erased: count,
    lookedAt: count,
    refused: z.array(refusal.extend({ eventId: text })),
  })
  .meta({ id: 'ErasedWhere' })

export const secretUse: z.ZodType<SecretUse> = z
  .object({
    source: text,
    label: text,
    deliveries: count,
    lastUsedAt: orNull(instant),
    until: orNull(instant),
  })
  .meta({ id: 'SecretUse' })
