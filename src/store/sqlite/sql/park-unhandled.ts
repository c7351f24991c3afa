import type { DueKind, ParkedEvent } from '../../contract/queue.ts'
import type { Topic } from '../../../model/topic.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { DUE } from './claim-group.ts'

// 1 topics as JSON  2 limit
const list = (due: string): string => `
  select q.event_id, q.attempts, e.source, e.event_key, cast(e.type as blob) as type
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id
   where ${due}
     and q.topic in (select value from json_each(?))
   limit ?`

const LIST: Readonly<Record<DueKind, string>> = {
  fresh: list(DUE.fresh),
  head: list(DUE.head),
  again: list(DUE.again),
  suspect: list(DUE.suspect),
  leasable: list(DUE.leasable),
}

// 1 events as JSON
const PARK = `
  update {prefix}queue
     set parked = 'unhandled',
         parked_reason = 'no handler for its type'
   where event_id in (select value from json_each(?))`

/** Parks events of these topics, at most `limit` of them, and says which. Inside a write transaction. */
export function parkUnhandled(
  connection: Connection,
  { kind, topics, limit }: { kind: DueKind; topics: readonly Topic[]; limit: number },
): readonly ParkedEvent[] {
  const parked = connection
    .all<Row>(LIST[kind], [JSON.stringify(topics), limit])
    .map(({ event_id, attempts, source, event_key, type }) => ({
      eventId: event_id,
      source,
      key: event_key === null ? '' : decodeText(event_key),
      type: decodeText(type),
      attempt: attempts + 1,
    }))
  connection.run(PARK, [JSON.stringify(parked.map(({ eventId }) => eventId))])
  return parked
}

type Row = {
  event_id: string
  attempts: number
  source: string
  event_key: Uint8Array | null
  type: Uint8Array
}
