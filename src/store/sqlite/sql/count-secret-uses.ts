import type { SecretUse } from '../../../model/secret-use.ts'
import type { Connection } from '../connection.ts'

// 1 source  2 label  3 deliveries  4 last used at  5 until
//
// The function max() of several values is null where one of them is.
const ADD = `
  insert into {prefix}secret_uses (source, label, deliveries, last_used_at, until)
  values (?, ?, ?, ?, ?)
      on conflict (source, label) do update
     set deliveries = deliveries + excluded.deliveries,
         last_used_at = coalesce(max(last_used_at, excluded.last_used_at), last_used_at, excluded.last_used_at),
         until = excluded.until`

/** Adds to how much secrets are used. Inside a write transaction. */
export function countSecretUses(connection: Connection, uses: readonly SecretUse[]): void {
  for (const { source, label, deliveries, lastUsedAt, until } of uses) {
    connection.run(ADD, [
      source,
      label,
      deliveries,
      lastUsedAt?.getTime() ?? null,
      until?.getTime() ?? null,
    ])
  }
}
