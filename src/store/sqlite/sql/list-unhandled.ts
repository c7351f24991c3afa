import type { UnhandledTopic } from '../../contract/queue.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

// 1 the topic after which the page begins  2 limit
//
// Steps from one topic to the next: `distinct` would read every parked event, of which one topic may have any
// number. Its source and type stand in any event of it.
const LIST = `
  with recursive found (topic) as (
         select min(topic)
           from {prefix}queue
          where parked = 'unhandled' and topic > ?
          union all
         select (select min(topic)
                   from {prefix}queue
                  where parked = 'unhandled' and topic > found.topic)
           from found
          where found.topic is not null)
  select page.topic, e.source, cast(e.type as blob) as type
    from (select topic from found where topic is not null limit ?) page
    join {prefix}events e
      on e.id = (select event_id from {prefix}queue where parked = 'unhandled' and topic = page.topic limit 1)
   order by page.topic`

/** The topics of events that are parked because no handler was found for them. */
export function listUnhandled(
  connection: Connection,
  { limit, after }: { limit: number; after: number },
): readonly UnhandledTopic[] {
  return connection
    .all<{ topic: number; source: string; type: Uint8Array }>(LIST, [after, limit])
    .map(({ topic, source, type }) => ({ topic, source, type: decodeText(type) }))
}
