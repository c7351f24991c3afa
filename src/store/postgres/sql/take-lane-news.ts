import type { LaneNews } from '../../contract/lanes.ts'
import type { Connections } from '../connections.ts'

const HAS_NEWS = `
  select exists (select from {schema}.lane_news) as has_news`

// $1 limit
const TAKE = `
  with taken as materialized (
         select id
           from {schema}.lane_news
          order by id
          limit $1
            for update skip locked),
       gone as (
         delete from {schema}.lane_news n
          using taken
          where n.id = taken.id
         returning n.id, n.lane_id, n.event_id, n.is_blocked)
  select gone.event_id, gone.is_blocked, l.source, l.key, l.mode
    from gone
    join {schema}.lanes l on l.lane_id = gone.lane_id
   order by gone.id`

/** A transaction of its own, when there are any. */
export async function takeLaneNews(
  connections: Connections,
  limit: number,
): Promise<readonly LaneNews[]> {
  const asked = await connections.use((connection) => connection.query<'has_news'>(HAS_NEWS))
  if (asked.rows[0]?.has_news !== 't') return []
  const rows = await connections.commitQuery<Column>(TAKE, [limit])
  return rows.map((row) => ({
    source: row.source ?? '',
    lane: row.key ?? '',
    mode: row.mode as LaneNews['mode'],
    eventId: row.event_id ?? '',
    isBlocked: row.is_blocked === 't',
  }))
}

type Column = 'event_id' | 'is_blocked' | 'source' | 'key' | 'mode'
