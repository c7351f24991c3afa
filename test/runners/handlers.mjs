import { destination } from 'hookonce'
import { stripe } from 'hookonce/providers'
import { testInbox } from 'hookonce/testing'

/** The same handlers for every runner; with `isOutside` they write on a connection of their own. */
export async function makeInbox({ isOutside = false } = {}) {
  const t = await testInbox({
    sources: { stripe },
    setup: 'create table paid (invoice text)',
    destinations: [destination('mail', () => undefined)],
    handlers: (inbox) => {
      inbox.on('stripe', 'invoice.paid', async (event, { tx, send }) => {
        if (isOutside) await t.execute('insert into paid values (?)', [event.key])
        else await tx.query('insert into paid values (?)', [event.key])
        await send('mail', { invoice: event.key })
      })
      inbox.steps('stripe', 'checkout.session.completed', async (_event, step) => {
        await step.call('charge', () => 'ch_1')
      })
    },
  })
  return t
}
