import { TransactionAbortedError } from '../../errors.ts'
import type { ClaimedEvent } from '../../store/contract/claimed-event.ts'
import type { Group } from '../../store/contract/group.ts'
import type { GroupSizes } from './group-sizes.ts'
import { findOnlyHandler } from '../handler-unit.ts'
import type { Handler, HandlerUnit } from '../handler-unit.ts'
import { GroupEndedError, GroupLostError, GroupTakenError } from './abandon-group.ts'
import type { AbandonContext } from './abandon-group.ts'
import { runEvent } from './run-event.ts'
import type { RunEventContext } from './run-event.ts'
import type { RunFailed, RunResult } from '../run-result.ts'
import type { SettledEvent } from '../settlement.ts'
import type { TopicHealth } from '../topic-health.ts'
import type { ContentionQueue } from './contention-queue.ts'

export interface RunInGroupContext extends RunEventContext, AbandonContext {
  readonly store: RunEventContext['store']
  readonly sizes: GroupSizes
  readonly health: TopicHealth
  readonly contention: ContentionQueue
  /** Whether the worker is being stopped: events whose handlers have not started are given back. */
  readonly isStopping: () => boolean
}

/** Runs one event and looks at what is left of the transaction. */
export async function runInGroup<Tx>(
  context: RunInGroupContext,
  group: Group<Tx>,
  event: ClaimedEvent,
  unit: HandlerUnit,
  { defersWrites } = { defersWrites: false },
): Promise<RunResult> {
  const result = await runEvent(context, { event, unit, lender: group, defersWrites })
  noteRun(context, event, unit, result)
  switch (group.status()) {
    case 'open':
      // What it wrote takes its time when it is sent.
      if (!defersWrites || !group.hasWrites())
        context.sizes.measured(event.topic, result.durationMs)
      return result
    case 'failed':
      if (result.status === 'failed') return result
      return abortedRun(unit, result)
    case 'ended':
      throw new GroupEndedError(event)
    case 'lost':
      context.sizes.lost(event.topic)
      throw new GroupLostError(event, result)
    case 'taken':
      throw new GroupTakenError()
  }
}

/** Smaller groups, and one at a time: against those of other processes, and against our own. */
export function noteContention(
  { sizes, contention }: RunInGroupContext,
  event: ClaimedEvent,
  unit: HandlerUnit,
): void {
  sizes.contended(event.topic)
  contention.contended(unit)
}

/** Contention says nothing about the handler. */
export function noteRun(
  { health }: RunInGroupContext,
  { topic }: ClaimedEvent,
  unit: HandlerUnit,
  result: RunResult,
): void {
  const failed = result.status === 'failed' && result.trouble !== 'contended'
  health.ran(topic, { unit: unit.name, durationMs: result.durationMs, failed })
}

export function unhandled(event: ClaimedEvent): SettledEvent {
  const { eventId, run } = event
  return {
    event,
    unit: undefined,
    settlement: { state: 'unhandled', eventId, run },
    error: undefined,
    hasSent: false,
  }
}

function abortedRun(unit: HandlerUnit, { durationMs, startedMs }: RunResult): RunFailed {
  return {
    status: 'failed',
    reason: 'transaction',
    error: new TransactionAbortedError(),
    handler: findOnlyHandler(unit)?.name,
    retry: (unit.handlers[0] as Handler).retry,
    isPermanent: false,
    trouble: undefined,
    durationMs,
    startedMs,
  }
}
