import type { CallEntry, CallWritten } from '../../contract/steps.ts'
import type { Connections } from '../connections.ts'
import { plainArray, textArray } from '../binary-array.ts'

// $1 events  $2 runs  $3 tokens  $4 handlers  $5 positions  $6 names  $7 changes  $8 results
const WRITE = `
  select ord, uncertain_ms
    from {schema}.write_calls($1, $2, $3, $4, $5, $6, $7, $8)`

/** A transaction of its own, in one round trip. */
export async function writeCalls(
  connections: Connections,
  entries: readonly CallEntry[],
): Promise<readonly (CallWritten | undefined)[]> {
  const rows = await connections.commitQuery<'ord' | 'uncertain_ms'>(WRITE, [
    plainArray(entries.map(({ lease }) => lease.eventId)),
    plainArray(entries.map(({ lease }) => lease.run)),
    plainArray(entries.map(({ lease }) => lease.token)),
    textArray(entries.map(({ handler }) => handler)),
    plainArray(entries.map(({ position }) => position)),
    textArray(entries.map(({ name }) => name)),
    plainArray(entries.map(({ change }) => change)),
    textArray(entries.map(({ result }) => result ?? null)),
  ])
  const written = new Map(rows.map((row) => [Number(row.ord), Number(row.uncertain_ms)]))
  return entries.map((_, at) => {
    const uncertainForMs = written.get(at + 1)
    return uncertainForMs === undefined ? undefined : { uncertainForMs }
  })
}
