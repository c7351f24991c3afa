import type { LeasedSettlement } from '../../contract/steps.ts'
import type { Connections } from '../connections.ts'
import { plainArray, textArray } from '../binary-array.ts'
import { wholeMs } from './settle.ts'

// $1 events  $2 runs  $3 tokens  $4 states  $5 attempts  $6 durations  $7 reasons  $8 results
// $9 retry in ms  $10 failures  $11 messages  $12 durations of failures  $13 handlers  $14 stacks  $15 causes
const SETTLE = `
  select ord
    from {schema}.settle_leased($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

/** A transaction of its own, in one round trip. */
export async function settleLeased(
  connections: Connections,
  settlements: readonly LeasedSettlement[],
): Promise<readonly boolean[]> {
  const rows = settlements.map(({ settlement }) => settlement)
  const failures = rows.map((row) => ('failure' in row ? row.failure : undefined))
  const written = await connections.commitQuery<'ord'>(SETTLE, [
    plainArray(settlements.map(({ lease }) => lease.eventId)),
    plainArray(settlements.map(({ lease }) => lease.run)),
    plainArray(settlements.map(({ lease }) => lease.token)),
    plainArray(rows.map(({ state }) => state)),
    plainArray(rows.map((row) => ('attempt' in row ? row.attempt : 0))),
    plainArray(rows.map((row) => ('durationMs' in row ? wholeMs(row.durationMs) : 0))),
    textArray(rows.map((row) => ('reason' in row ? row.reason : null))),
    textArray(rows.map((row) => (row.state === 'done' ? (row.result ?? null) : null))),
    plainArray(rows.map((row) => (row.state === 'ready' ? row.retryInMs : 0))),
    textArray(failures.map((failure) => failure?.reason ?? null)),
    textArray(failures.map((failure) => failure?.message ?? null)),
    plainArray(failures.map((failure) => wholeMs(failure?.durationMs ?? 0))),
    textArray(failures.map((failure) => failure?.handler ?? null)),
    textArray(failures.map((failure) => failure?.stack ?? null)),
    textArray(failures.map((failure) => failure?.cause ?? null)),
  ])
  const found = new Set(written.map((row) => Number(row.ord)))
  return settlements.map((_, at) => found.has(at + 1))
}
