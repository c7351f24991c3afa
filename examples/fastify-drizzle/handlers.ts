import type { Inbox, Source } from 'hookonce'
import type { DrizzleTx } from 'hookonce/drizzle'
import type { PostgresTx } from 'hookonce/postgres'
import type { StripeEvents } from 'hookonce/providers'
import * as schema from './schema.ts'

export type AppTx = DrizzleTx<typeof schema>
export type AppInbox = Inbox<{ readonly stripe: Source<StripeEvents> }, AppTx, PostgresTx>

/** Called by the service, and by the test with an inbox of its own. */
export function addHandlers(inbox: Pick<AppInbox, 'on'>): void {
  inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
    const { id, amount_paid: cents } = event.payload.data.object
    await bookPayment(tx, { invoice: String(id), cents: Number(cents) })
  })
}

/** Code of the service that knows Drizzle and no webhooks. Its insert and the fact that the event is done commit together. */
async function bookPayment(
  tx: Pick<AppTx, 'insert'>,
  payment: typeof schema.payments.$inferInsert,
): Promise<void> {
  await tx.insert(schema.payments).values(payment)
}
