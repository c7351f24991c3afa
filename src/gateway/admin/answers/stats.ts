/**
 * How things stand, as the admin API shows it.
 *
 * @module
 */

import { z } from 'zod'
import type { CollectedStats, Count, ErrorGroups, Unfinished } from '../../../index.ts'
import { EVENT_STATES, MESSAGE_STATES } from '../../../index.ts'
import { instant, orNull } from '../wire.ts'
import { pauseRecord } from './operators.ts'

const text = z.string()
const whole = z.int().min(0)
const COUNT = { count: whole, isExact: z.boolean() }
const count: z.ZodType<Count> = z.object(COUNT).meta({ id: 'Count' })
const byState = z.partialRecord(z.enum(EVENT_STATES), whole)

export const collectedStats: z.ZodType<CollectedStats> = z
  .object({
    at: instant,
    states: z.record(z.enum(EVENT_STATES), count),
    sources: z.array(z.object({ source: text, states: byState })),
    queue: z.object({ due: count, oldestDueAt: orNull(instant) }),
    rates: z.array(z.object({ from: instant, received: count, settled: byState })),
    messages: z.array(z.object({ destination: text, state: z.enum(MESSAGE_STATES), ...COUNT })),
    workers: z.array(
      z.object({
        workerId: text,
        beatAt: instant,
        running: z.array(
          z.object({
            eventId: text,
            source: text,
            type: text,
            attempt: whole,
            since: orNull(instant),
          }),
        ),
      }),
    ),
    openTransactions: orNull(
      z.array(
        z.object({
          kind: z.enum(['session', 'prepared', 'standby', 'slot']),
          name: text,
          role: orNull(text),
          application: orNull(text),
          since: orNull(instant),
          behind: orNull(whole),
        }),
      ),
    ),
    pauses: z.array(pauseRecord),
  })
  .meta({ id: 'Stats' })

export const errorGroups: z.ZodType<ErrorGroups> = z
  .object({
    groups: z.array(
      z.object({
        id: text,
        reason: text,
        handler: orNull(text),
        message: text,
        count: whole,
        sources: z.array(text),
        firstSeenAt: instant,
        lastSeenAt: instant,
        sample: z.array(text),
      }),
    ),
    lookedAt: whole,
    isComplete: z.boolean(),
  })
  .meta({ id: 'ErrorGroups' })

export const unfinished: z.ZodType<Unfinished> = z
  .object({
    at: instant,
    leftRunning: z.array(z.object({ workerId: text, events: whole, silentMs: orNull(z.number()) })),
    messages: z.array(
      z.object({ destination: text, state: z.enum(['uncertain', 'unknown']), ...COUNT }),
    ),
    lanes: z.object({ waiting: count, blocked: count, gaps: count }),
    wentBack: orNull(z.object({ since: instant, until: instant, received: count })),
  })
  .meta({ id: 'Unfinished' })
