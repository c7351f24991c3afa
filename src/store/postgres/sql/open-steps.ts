/**
 * Makes sure of the leases of steps, when their transaction opens, and keeps their results, before it is committed.
 * Both are functions in the schema (`step-functions.ts`) and part of a round trip that is made anyway.
 *
 * Only PostgreSQL: on SQLite a step's transaction asks for its leases by `sql/write-calls.ts`.
 *
 * @module
 */

import type { OpenStep, StepResult } from '../../contract/steps.ts'
import { plainArray, textArray } from '../binary-array.ts'
import type { TextRow } from '../connection.ts'
import type { Statement } from '../statement-batch.ts'

// $1 events  $2 runs  $3 tokens  $4 handlers  $5 positions  $6 kinds  $7 names
const OPEN = `
  select ord, pid, xid from {schema}.open_steps($1, $2, $3, $4, $5, $6, $7)`

// $1 events  $2 runs  $3 handlers  $4 positions  $5 which ran  $6 results
const FINISH = `
  select {schema}.finish_steps($1, $2, $3, $4, $5, $6)`

export function openSteps(steps: readonly OpenStep[]): Statement {
  const { events, runs, handlers, positions } = placesOf(steps)
  const tokens = plainArray(steps.map(({ lease }) => lease.token))
  const kinds = textArray(steps.map(({ kind }) => kind))
  const names = textArray(steps.map(({ name }) => name))
  return { text: OPEN, values: [events, runs, tokens, handlers, positions, kinds, names] }
}

/** What `openSteps` was answered; `undefined` when no lease is held. */
export function readOpened(
  steps: readonly OpenStep[],
  rows: readonly TextRow[],
): { readonly held: readonly boolean[]; readonly pid: number; readonly xid: string } | undefined {
  const [first] = rows
  if (first === undefined) return undefined
  const found = new Set(rows.map((row) => Number(row['ord'])))
  return {
    held: steps.map((_, at) => found.has(at + 1)),
    pid: Number(first['pid']),
    xid: String(first['xid']),
  }
}

export function finishSteps(
  held: readonly { readonly step: OpenStep; readonly result: StepResult | undefined }[],
): Statement {
  const { events, runs, handlers, positions } = placesOf(held.map(({ step }) => step))
  const ran = plainArray(held.map(({ result }) => String(result !== undefined)))
  const results = textArray(held.map(({ result }) => result?.text ?? null))
  return { text: FINISH, values: [events, runs, handlers, positions, ran, results] }
}

function placesOf(
  steps: readonly OpenStep[],
): Readonly<Record<'events' | 'runs' | 'handlers' | 'positions', unknown>> {
  return {
    events: plainArray(steps.map(({ lease }) => lease.eventId)),
    runs: plainArray(steps.map(({ lease }) => lease.run)),
    handlers: textArray(steps.map(({ handler }) => handler)),
    positions: plainArray(steps.map(({ position }) => position)),
  }
}
