/**
 * What the shop does when Stripe tells of an invoice. Three handlers, each with the promise that its work needs.
 *
 * @module
 */

import type { Inbox, SendsOf, Source } from 'hookonce'
import type { StripeEvents } from 'hookonce/providers'
import type { SqliteTx } from 'hookonce/sqlite'
import type { mail } from './mail.ts'
import { buyLabel } from './parcels.ts'

export const CREATE_TABLES = `
  create table if not exists invoices (id text primary key, status text not null);
  create table if not exists payments (invoice text not null, cents integer not null);
  create table if not exists parcels (invoice text not null, tracking text not null);
`

export type ShopInbox = Inbox<
  { readonly stripe: Source<StripeEvents> },
  SqliteTx,
  SqliteTx,
  SendsOf<readonly [typeof mail]>
>

/** Called by the service, and by the test with an inbox of its own. */
export function addHandlers(inbox: Pick<ShopInbox, 'on' | 'steps'>): void {
  keepStatus(inbox)
  bookPayment(inbox)
  fulfil(inbox)
}

/**
 * The invoice as Stripe shows it, for the customer's page. Events overtake each other, so that an older state must not
 * come over a newer one: those that are too late are skipped. Stripe's times are whole seconds. Of two states in one
 * second the one that comes last is kept; where that matters, ask Stripe with `fetch`.
 */
function keepStatus(inbox: Pick<ShopInbox, 'on'>): void {
  inbox.on(
    'stripe',
    'invoice.updated',
    {
      name: 'keep status',
      order: {
        mode: 'latest',
        lane: ({ payload }) => `invoice:${String(payload.data.object['id'])}`,
        version: ({ payload }) => payload.created,
      },
    },
    async ({ payload }, { tx }) => {
      const { id, status } = payload.data.object
      await tx.query(
        'insert into invoices (id, status) values ($1, $2) on conflict (id) do update set status = $2',
        [id, status],
      )
    },
  )
}

/**
 * The money, and the receipt. A payment is a fact and no state: it is booked whether it comes before or after the
 * updates of its invoice. The receipt is written in the same transaction and sent after its COMMIT.
 */
function bookPayment(inbox: Pick<ShopInbox, 'on'>): void {
  inbox.on('stripe', 'invoice.paid', { name: 'book' }, async ({ payload }, { tx, send }) => {
    const { id, amount_paid: cents } = payload.data.object
    await tx.query('insert into payments (invoice, cents) values ($1, $2)', [id, cents])
    await send('mail', { template: 'receipt', invoice: String(id) })
  })
}

/**
 * The parcel. Buying its label leaves the database, so that this goes step by step. While the parcel service is away the
 * event is tried again, for three days; what was booked above is done, and is not done again.
 */
function fulfil(inbox: Pick<ShopInbox, 'steps'>): void {
  inbox.steps('stripe', 'invoice.paid', { name: 'fulfil' }, async ({ payload }, step) => {
    const invoice = String(payload.data.object['id'])
    const label = await step.call('buy label', (call) => buyLabel(invoice, call))
    await step.tx('ship', async (tx, { send }) => {
      await tx.query('insert into parcels (invoice, tracking) values ($1, $2)', [
        invoice,
        label.tracking,
      ])
      await send('mail', { template: 'shipped', invoice, tracking: label.tracking })
    })
  })
}
