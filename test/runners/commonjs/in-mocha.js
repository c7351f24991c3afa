const { crashAt, expectDone, expectEffectOnce, expectSentOnce } = require('hookonce/testing')
const { makeInbox } = require('./handlers.js')

it('the kit runs in mocha, wherever the process dies', async () => {
  await crashAt.each(makeInbox, async (t) => {
    const paid = await t.deliver('stripe', 'invoice.paid', { times: 5, parallel: true })
    await t.drain()
    await expectDone(paid)
    await expectEffectOnce(t, 'select * from paid')
    expectSentOnce(t.messages('mail'))
  })
})
