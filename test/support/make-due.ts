import type { InboxUnderTest } from './inbox-under-test.ts'

type Query = InboxUnderTest['database']['query']

/** Makes everything that waits due now. */
export async function makeDue({ query }: InboxUnderTest['database']): Promise<void> {
  await eitherWay(
    query,
    'update hookonce.queue set run_at = clock_timestamp()',
    'update hookonce_queue set run_at = 0',
  )
}

/** The same in the words of either engine. */
export async function eitherWay(query: Query, postgres: string, sqlite: string): Promise<void> {
  await query(postgres).catch(() => query(sqlite))
}
