/**
 * Removes the bodies and headers of events that have ended long enough ago, with the requests that they came in and
 * what is kept beside them.
 *
 * How an event ended stays, and its keys: a redelivery is still a duplicate, and is answered with the kept result.
 *
 * @module
 */

import type { PruneLimits, PruneStep } from '../../contract/retention.ts'
import { lowestId, lowestIdAt } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'

/** No row of the queue, and no message that is still to be sent or of which that is not known. `event_id` is given. */
export const hasNothingOpen = (eventId: string): string => `
         not exists (select 1 from {prefix}queue q where q.event_id = ${eventId})
         and not exists (select 1
                           from {prefix}messages m
                           left join {prefix}message_outcomes x on x.message_id = m.id
                          where m.event_id = ${eventId}
                            and coalesce(x.state, 'queued') not in ('sent', 'discarded'))`

// 1 done before  2 skipped before  3 discarded before  4 after event  5 before event  6 limit
const PAGE = `
  select e.id,
         exists (select 1
                   from {prefix}outcomes o
                  where o.event_id = e.id
                    and o.run = (select max(l.run) from {prefix}outcomes l where l.event_id = e.id)
                    and o.settled_at < case o.state when 'done' then ? when 'skipped' then ?
                                                    when 'discarded' then ? end)
         and ${hasNothingOpen('e.id')} as goes
    from {prefix}events e
   where e.id > ? and e.id < ?
   order by e.id
   limit ?`

// 1 events, as JSON
const LISTED = '(select value from json_each(?))'
const FIND_REQUESTS = `
  select distinct request_id
    from {prefix}events
   where id in ${LISTED} and request_id is not null`
const DELETE_EVENTS = `delete from {prefix}events where id in ${LISTED}`
const DELETE_ATTEMPTS = `delete from {prefix}attempts where event_id in ${LISTED}`
const DELETE_STEPS = `delete from {prefix}steps where event_id in ${LISTED}`
const DELETE_DELIVERIES = `delete from {prefix}deliveries where event_id in ${LISTED}`

// 1 requests, as JSON
const DELETE_REQUESTS = `
  delete from {prefix}requests
   where id in ${LISTED}
     and not exists (select 1 from {prefix}events e where e.request_id = {prefix}requests.id)`

/** Inside a write transaction. */
export function prunePayloads(
  connection: Connection,
  { limits, after, most }: PruneRequest,
): PruneStep {
  const { done, skipped, discarded } = limits
  const before = lowestIdAt(Math.max(done ?? 0, skipped ?? 0, discarded ?? 0))
  const page = connection.all<{ id: string; goes: number }>(PAGE, [
    done,
    skipped,
    discarded,
    after ?? lowestId,
    before,
    most,
  ])
  const ids = JSON.stringify(page.filter(({ goes }) => goes === 1).map(({ id }) => id))
  const requests = connection.all<{ request_id: string }>(FIND_REQUESTS, [ids])
  return {
    removed: {
      events: connection.run(DELETE_EVENTS, [ids]),
      requests: connection.run(DELETE_REQUESTS, [
        JSON.stringify(requests.map(({ request_id }) => request_id)),
      ]),
      attempts: connection.run(DELETE_ATTEMPTS, [ids]),
      steps: connection.run(DELETE_STEPS, [ids]),
      deliveries: connection.run(DELETE_DELIVERIES, [ids]),
    },
    next: page.length < most ? undefined : page.at(-1)?.id,
    isBusy: false,
  }
}

export interface PruneRequest {
  readonly limits: PruneLimits
  readonly after: string | undefined
  /** How many are looked at. */
  readonly most: number
}
