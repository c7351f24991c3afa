/**
 * Runs the handlers of an event one after the other, and makes one result of theirs. In a group and step by step alike.
 *
 * @module
 */

import { asError, HookonceError } from '../errors.ts'
import { Skip } from '../model/handler-results.ts'
import type { Handler, HandlerUnit } from './handler-unit.ts'
import type { RunDone, RunFailed, RunSkipped } from './run-result.ts'

export interface InOrder {
  /** Runs one of them. */
  readonly call: (handler: Handler) => Promise<unknown>
  /** What it means that one of them failed. Throws what ends the run in another way. */
  readonly fail: (error: Error, handler: Handler) => RunFailed
  /** Whether what they return is answered to the sender. */
  readonly keepsResult: boolean
}

/** The first that fails ends it. One that had something to do makes the event done. */
export async function runInOrder(
  { handlers }: HandlerUnit,
  { call, fail, keepsResult }: InOrder,
): Promise<Pick<RunDone, 'status' | 'result'> | Pick<RunSkipped, 'status' | 'reason'> | RunFailed> {
  const values: unknown[] = []
  for (const handler of handlers) {
    try {
      values.push(await call(handler))
    } catch (thrown) {
      return fail(asError(thrown), handler)
    }
  }
  const skipped = values.find((value) => value instanceof Skip)
  if (skipped !== undefined && values.every((value) => value instanceof Skip))
    return { status: 'skipped', reason: skipped.reason }
  try {
    return { status: 'done', result: keepsResult ? stringifyResult(values) : undefined }
  } catch (error) {
    return fail(asError(error), handlers[0] as Handler)
  }
}

/** One handler: its value. Several: the list of theirs, in the order they were registered. */
function stringifyResult(values: readonly unknown[]): string | undefined {
  const value =
    values.length === 1 ? values[0] : values.map((each) => (each instanceof Skip ? null : each))
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new HookonceError(
      'RESULT_INVALID',
      'What the handler returned cannot be written as JSON',
      { cause: error },
    )
  }
  if (text !== undefined && text.length > RESULT_LENGTH_MAX) {
    throw new HookonceError(
      'RESULT_INVALID',
      `What the handler returned is longer than ${RESULT_LENGTH_MAX} characters of JSON`,
    )
  }
  return text
}

const RESULT_LENGTH_MAX = 65_536
