import type { Inbox, Source } from 'hookonce'
import type { PostgresTx } from 'hookonce/postgres'
import type { StripeEvents } from 'hookonce/providers'
import type { EntityManager } from 'typeorm'
import { Payment } from './payment.ts'

export type AppInbox = Inbox<{ readonly stripe: Source<StripeEvents> }, EntityManager, PostgresTx>

/** Called by the service, and by the test with an inbox of its own. */
export function addHandlers(inbox: Pick<AppInbox, 'on'>): void {
  inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
    const { id, amount_paid: cents } = event.payload.data.object
    // The payment and the fact that the event is done commit together.
    await tx.insert(Payment, { invoice: String(id), cents: Number(cents) })
  })
}
