import type { LaneNews } from '../../contract/lanes.ts'
import type { Connection } from '../connection.ts'

const HAS_NEWS = `
  select 1 as found
    from {prefix}lane_news
   limit 1`

// 1 limit
const LIST = `
  select n.id, n.event_id, n.is_blocked, l.source, l.key, l.mode
    from {prefix}lane_news n
    left join {prefix}lanes l on l.lane_id = n.lane_id
   order by n.id
   limit ?`

// 1 id
const DELETE = `
  delete from {prefix}lane_news
   where id = ?`

/** Whether there are any, asked without the write lock. */
export function hasLaneNews(connection: Connection): boolean {
  return connection.all(HAS_NEWS).length > 0
}

/** Inside a write transaction. */
export function takeLaneNews(connection: Connection, limit: number): readonly LaneNews[] {
  return connection.all<NewsRow>(LIST, [limit]).flatMap((row) => {
    connection.run(DELETE, [row.id])
    if (row.source === null || row.key === null) return []
    return {
      source: row.source,
      lane: row.key,
      mode: row.mode as LaneNews['mode'],
      eventId: row.event_id,
      isBlocked: row.is_blocked === 1,
    }
  })
}

type NewsRow = {
  id: number
  event_id: string
  is_blocked: number
  source: string | null
  key: string | null
  mode: string | null
}
