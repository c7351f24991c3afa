import type { Inbox, Source } from 'hookonce'
import type { PostgresTx } from 'hookonce/postgres'
import type { StripeEvents } from 'hookonce/providers'

/** A table of the service, in the database that also keeps the events. */
export const CREATE_PAYMENTS = `create table if not exists payments (
  invoice text not null,
  cents integer not null,
  paid_at timestamptz not null default now()
)`

export type AppInbox = Inbox<{ readonly stripe: Source<StripeEvents> }, PostgresTx>

/** Called by the service, and by the test with an inbox of its own. */
export function addHandlers(inbox: Pick<AppInbox, 'on'>): void {
  inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
    const { id, amount_paid: cents } = event.payload.data.object
    // The payment and the fact that the event is done commit together.
    await tx.query('insert into payments (invoice, cents) values ($1, $2)', [id, cents])
  })
}
