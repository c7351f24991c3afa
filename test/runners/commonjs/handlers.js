const { destination } = require('hookonce')
const { stripe } = require('hookonce/providers')
const { testInbox } = require('hookonce/testing')

/** As a service in CommonJS has them. */
exports.makeInbox = ({ isOutside = false } = {}) => {
  const made = testInbox({
    sources: { stripe },
    setup: 'create table paid (invoice text)',
    destinations: [destination('mail', () => undefined)],
    handlers: (inbox) => {
      inbox.on('stripe', 'invoice.paid', async (event, { tx, send }) => {
        if (isOutside) await (await made).execute('insert into paid values (?)', [event.key])
        else await tx.query('insert into paid values (?)', [event.key])
        await send('mail', { invoice: event.key })
      })
    },
  })
  return made
}
