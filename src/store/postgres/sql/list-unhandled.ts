import type { UnhandledPage } from '../../contract.ts'
import type { Connection } from '../connection.ts'

// $1 limit  $2 the hash after which the page begins
//
// Steps from one hash to the next: `distinct` would read every parked event, of which one pair may have
// any number. The pair itself stands in any event that has the hash.
const LIST = `
  with recursive pair as (
         (select wake_key, event_id
            from {schema}.queue
           where parked = 'unhandled' and wake_key > decode($2, 'hex')
           order by wake_key
           limit 1)
          union all
         select next.wake_key, next.event_id
           from pair
          cross join lateral (select wake_key, event_id
                                from {schema}.queue
                               where parked = 'unhandled' and wake_key > pair.wake_key
                               order by wake_key
                               limit 1) next)
  select encode(page.wake_key, 'hex') as wake_key, e.source, e.type
    from (select * from pair limit $1::integer) page
    left join lateral (select source, type from {schema}.events where id = page.event_id limit 1) e on true
   order by page.wake_key`

/** The (source, type) pairs of events that no handler was found for, in the order of their hashes. */
export async function listUnhandled(
  connection: Connection,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<UnhandledPage> {
  const { rows } = await connection.query<'wake_key' | 'source' | 'type'>(LIST, [
    limit + 1,
    after ?? '',
  ])
  const page = rows.slice(0, limit)
  return {
    pairs: page.flatMap(({ source, type }) =>
      source === null || type === null ? [] : [{ source, type }],
    ),
    next: rows.length > limit ? (page.at(-1)?.wake_key ?? undefined) : undefined,
  }
}
