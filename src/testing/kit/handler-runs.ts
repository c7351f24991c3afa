/**
 * Which handlers ran for which events, and how each run ended.
 *
 * @module
 */

import type { WebhookEvent } from '../../model/event.ts'

/** A run of a handler. */
export interface HandlerRun {
  /** The key of the event. */
  readonly event: string
  readonly source: string
  readonly type: string
  /** Which handler: the how manieth that was registered, from 1. */
  readonly handler: number
  /** Whether it is one of `inbox.steps`. */
  readonly isSteps: boolean
  readonly attempt: number
  /** `cut off`: it has not ended, or its process died first. */
  readonly end: 'returned' | 'threw' | 'cut off'
  /** What it threw, in words. */
  readonly message: string | undefined
}

type Settable<Run> = { -readonly [Name in keyof Run]: Run[Name] }

/** Runs a handler, and writes down that it ran and how it ended. */
export async function keepRun<Value>(
  runs: HandlerRun[],
  about: Pick<HandlerRun, 'handler' | 'isSteps' | 'attempt'> & { readonly of: WebhookEvent },
  work: () => Promise<Value>,
): Promise<Value> {
  const { of: event, ...rest } = about
  const { source, type, key } = event
  const run: Settable<HandlerRun> = {
    event: key,
    source,
    type,
    ...rest,
    end: 'cut off',
    message: undefined,
  }
  runs.push(run)
  try {
    const value = await work()
    run.end = 'returned'
    return value
  } catch (error) {
    run.end = 'threw'
    run.message = error instanceof Error ? error.message : String(error)
    throw error
  }
}

/** Those that ran more than once for the same event: the runs of each, in their order. */
export function listRepeated(runs: readonly HandlerRun[]): readonly (readonly HandlerRun[])[] {
  const byWork = new Map<string, HandlerRun[]>()
  for (const run of runs) {
    const work = JSON.stringify([run.source, run.event, run.handler])
    byWork.set(work, [...(byWork.get(work) ?? []), run])
  }
  return [...byWork.values()].filter(({ length }) => length > 1)
}
