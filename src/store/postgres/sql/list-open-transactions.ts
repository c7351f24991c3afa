/**
 * Only PostgreSQL: SQLite tells neither who reads nor since when.
 *
 * @module
 */

import type { OpenTransaction } from '../../../model/open-transaction.ts'
import type { Connection } from '../connection.ts'

// $1 how many at most by age, and as many by what they hold back
//
// A role sees of another role's session who it is and what it holds back, and not since when. Without a role: workers
// of the server's own. Another database's sessions hold nothing of ours back, a standby's and a slot's do.
const LIST = `
  with open as materialized (
         select case when a.datid is null then 'standby' else 'session' end as kind, a.pid::text as name,
                a.usename::text as role, nullif(a.application_name, '') as application,
                case when a.datid is not null then a.xact_start end as since,
                greatest(age(a.backend_xid), age(a.backend_xmin)) as behind
           from pg_catalog.pg_stat_activity a
          where a.pid <> pg_catalog.pg_backend_pid() and a.usesysid is not null
            and (a.datname = current_database() and (a.xact_start is not null or a.backend_xid is not null)
                 or (a.datname = current_database() or a.datid is null) and a.backend_xmin is not null)
          union all
         select 'prepared', p.gid, p.owner::text, null, p.prepared, age(p.transaction)
           from pg_catalog.pg_prepared_xacts p
          where p.database = current_database()
          union all
         select 'slot', s.slot_name::text, null, null, null, age(s.xmin)
           from pg_catalog.pg_replication_slots s
          where s.xmin is not null),
       ranked as (
         select *, row_number() over (order by since nulls last, name) as by_age,
                row_number() over (order by behind desc nulls last, name) as by_hold
           from open)
  select kind, name, role, application, (extract(epoch from since) * 1000)::bigint as since, behind
    from ranked
   where by_age <= $1 or by_hold <= $1
   order by by_age`

/** The oldest first. Ours that run just now are among them. */
export async function listOpenTransactions(
  connection: Connection,
  most: number,
): Promise<readonly OpenTransaction[]> {
  const { rows } = await connection.query<
    'kind' | 'name' | 'role' | 'application' | 'since' | 'behind'
  >(LIST, [most])
  return rows.map(({ kind, name, role, application, since, behind }) => ({
    kind: kind as OpenTransaction['kind'],
    name: name ?? '',
    role: role ?? undefined,
    application: application ?? undefined,
    since: since === null ? undefined : new Date(Number(since)),
    behind: behind === null ? undefined : Number(behind),
  }))
}
