import type { UnhandledTopic } from '../../contract/queue.ts'
import type { Connection } from '../connection.ts'

// $1 limit  $2 the topic after which the page begins
//
// Steps from one topic to the next: `distinct` would read every parked event, of which one topic may have any
// number. Its source and type stand in any event of it.
const LIST = `
  with recursive found as (
         (select topic, event_id
            from {schema}.queue
           where parked = 'unhandled' and topic > $2::bigint
           order by topic
           limit 1)
          union all
         select next.topic, next.event_id
           from found
          cross join lateral (select topic, event_id
                                from {schema}.queue
                               where parked = 'unhandled' and topic > found.topic
                               order by topic
                               limit 1) next)
  select page.topic, e.source, e.type
    from (select * from found limit $1::integer) page
    join lateral (select source, type from {schema}.events where id = page.event_id limit 1) e on true
   order by page.topic`

/** The topics of events that are parked because no handler was found for them. */
export async function listUnhandled(
  connection: Connection,
  { limit, after }: { limit: number; after: number },
): Promise<readonly UnhandledTopic[]> {
  const { rows } = await connection.query<'topic' | 'source' | 'type'>(LIST, [limit, after])
  return rows.map(({ topic, source, type }) => ({
    topic: Number(topic),
    source: source ?? '',
    type: type ?? '',
  }))
}
