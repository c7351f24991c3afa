import type { StepPosition, WalkedStep } from '../../contract/event-search.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'

// $1 event  $2 run  $3 handler  $4 position  $5 limit
//
// Backwards over the primary key, so that the newest events come first.
const WALK = `
  select s.event_id, s.run, s.handler, s.position, s.name, encode(e.key_hash, 'hex') as key_hash
    from (select *
            from {schema}.steps
           where (event_id, run, handler, position) < ($1, $2, $3, $4)
           order by event_id desc, run desc, handler desc, position desc
           limit $5) s
    left join {schema}.events e on e.id = s.event_id
   order by s.event_id desc, s.run desc, s.handler desc, s.position desc`

export async function walkSteps(
  connection: Connection,
  { eventId, run, handler, position }: StepPosition,
  limit: number,
): Promise<readonly WalkedStep[]> {
  const values = [eventId, run, withoutNul(handler), position, limit]
  const { rows } = await connection.query(WALK, values)
  return rows.map((row) => ({
    eventId: row['event_id'] ?? '',
    run: Number(row['run']),
    handler: row['handler'] ?? '',
    position: Number(row['position']),
    name: row['name'] ?? '',
    keyHash: row['key_hash'] ?? '',
  }))
}
