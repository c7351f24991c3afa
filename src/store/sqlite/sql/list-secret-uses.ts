import type { SecretUse } from '../../../model/secret-use.ts'
import { decodeText } from '../decode-text.ts'
import type { Connection } from '../connection.ts'

// 1 source; every one when null
const LIST = `
  select source, cast(label as blob) as label, deliveries, last_used_at, until
    from {prefix}secret_uses
   where ?1 is null or source = ?1
   order by source, label`

/** How much the secrets of a source, or of all, are used. */
export function listSecretUses(
  connection: Connection,
  source: string | undefined,
): readonly SecretUse[] {
  return connection.all<UseRow>(LIST, [source ?? null]).map((row) => ({
    source: row.source,
    label: decodeText(row.label),
    deliveries: row.deliveries,
    lastUsedAt: dateOf(row.last_used_at),
    until: dateOf(row.until),
  }))
}

function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms)
}

type UseRow = {
  source: string
  label: Uint8Array
  deliveries: number
  last_used_at: number | null
  until: number | null
}
