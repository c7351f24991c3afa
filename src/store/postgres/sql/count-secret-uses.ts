import type { SecretUse } from '../../../model/secret-use.ts'
import { textArray, timestampArray, plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 sources  $2 labels  $3 deliveries  $4 last used at  $5 until
//
// Sorted, so that two processes that count the same secrets wait instead of dead-locking. Best effort, so that its
// COMMIT need not wait for the disk.
const COUNT = `
  insert into {schema}.secret_uses (source, label, deliveries, last_used_at, until)
  select source, label, deliveries, last_used_at, until
    from unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[])
      as used (source, label, deliveries, last_used_at, until)
   where set_config('synchronous_commit', 'off', true) is not null
   order by source, label
      on conflict (source, label) do update
     set deliveries = secret_uses.deliveries + excluded.deliveries,
         last_used_at = greatest(secret_uses.last_used_at, excluded.last_used_at),
         until = excluded.until`

/** Adds to how much secrets are used. */
export async function countSecretUses(
  connection: Connection,
  uses: readonly SecretUse[],
): Promise<void> {
  await connection.query(COUNT, [
    textArray(uses.map(({ source }) => source)),
    textArray(uses.map(({ label }) => label)),
    plainArray(uses.map(({ deliveries }) => deliveries)),
    timestampArray(uses.map(({ lastUsedAt }) => timeOf(lastUsedAt))),
    timestampArray(uses.map(({ until }) => timeOf(until))),
  ])
}

/** A time before 1970 is as good as 1970, and may be too early for PostgreSQL. */
function timeOf(date: Date | undefined): number | null {
  return date === undefined ? null : Math.max(0, date.getTime())
}
