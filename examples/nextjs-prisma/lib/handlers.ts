import type { Inbox, Source } from 'hookonce'
import type { PostgresTx } from 'hookonce/postgres'
import type { PrismaTx } from 'hookonce/prisma'
import type { StripeEvents } from 'hookonce/providers'
import type { PrismaClient } from '../generated/prisma/client.ts'

export type AppInbox = Inbox<
  { readonly stripe: Source<StripeEvents> },
  PrismaTx<PrismaClient>,
  PostgresTx
>

/** Called by the service, and by the test with an inbox of its own. */
export function addHandlers(inbox: Pick<AppInbox, 'on'>): void {
  inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
    const { id, amount_paid: cents } = event.payload.data.object
    // The payment and the fact that the event is done commit together.
    await tx.payment.create({ data: { invoice: String(id), cents: Number(cents) } })
  })
}
