import type { SecretUse } from '../../../model/secret-use.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'

// $1 source; every one when null
const LIST = `
  select source, label, deliveries, (extract(epoch from last_used_at) * 1000)::bigint as last_used_at,
         (extract(epoch from until) * 1000)::bigint as until
    from {schema}.secret_uses
   where $1::text is null or source = $1
   order by source collate "C", label collate "C"`

/** How much the secrets of a source, or of all, are used. */
export async function listSecretUses(
  connection: Connection,
  source: string | undefined,
): Promise<readonly SecretUse[]> {
  const { rows } = await connection.query<
    'source' | 'label' | 'deliveries' | 'last_used_at' | 'until'
  >(LIST, [source === undefined ? null : withoutNul(source)])
  return rows.map((row) => ({
    source: row.source ?? '',
    label: row.label ?? '',
    deliveries: Number(row.deliveries),
    lastUsedAt: dateOf(row.last_used_at),
    until: dateOf(row.until),
  }))
}

function dateOf(ms: string | null | undefined): Date | undefined {
  return ms == null ? undefined : new Date(Number(ms))
}
