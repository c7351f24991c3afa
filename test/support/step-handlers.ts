/**
 * What tests of step handlers share.
 *
 * @module
 */

import type { InboxUnderTest } from './inbox-under-test.ts'

/** Options of a handler whose next attempt comes at once. */
export const SOON = { retry: { firstMs: 1, factor: 1 } }
/** Of one whose next attempt comes when `makeDue` says so. */
export const LATER = { retry: { firstMs: 3_600_000 } }
export const WRITE = 'insert into effects (event_key, note) values ($1, $2)'

/** As if the steps had been started so much earlier. */
export async function moveStarts(
  { query }: InboxUnderTest['database'],
  earlierMs: number,
): Promise<void> {
  await eitherWay(
    query,
    `update hookonce.steps set started_at = started_at - ${earlierMs} * interval '1 millisecond'`,
    `update hookonce_steps set started_at = started_at - ${earlierMs}`,
  )
}

/** Makes everything that waits due now. */
export async function makeDue({ query }: InboxUnderTest['database']): Promise<void> {
  await eitherWay(
    query,
    'update hookonce.queue set run_at = clock_timestamp()',
    'update hookonce_queue set run_at = 0',
  )
}

/** The same in the words of either engine. */
export async function eitherWay(
  query: InboxUnderTest['database']['query'],
  postgres: string,
  sqlite: string,
): Promise<void> {
  await query(postgres).catch(() => query(sqlite))
}
