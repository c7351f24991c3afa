const { HookonceError, OptionInvalidError } = require('hookonce')
const { stripe } = require('hookonce/providers')
const { sqliteStore } = require('hookonce/sqlite')
const { crashAt } = require('hookonce/testing')
require('hookonce/testing/jest')
const { makeInbox } = require('./handlers.js')

jest.setTimeout(120_000)

test('the kit runs in jest without a flag, wherever the process dies', async () => {
  const points = await crashAt.each(makeInbox, async (t) => {
    const paid = await t.deliver('stripe', 'invoice.paid', { times: 5, parallel: true })
    await t.drain()
    await expect(paid).toBeDone()
    await expect(t).toHaveTakenEffectOnce('select * from paid')
    expect(t.messages('mail')).toHaveBeenSentOnce()
  })

  expect(points).toContain('after-commit')
})

test('a mistake is told there as it is elsewhere', async () => {
  const caught = crashAt.each(
    () => makeInbox({ isOutside: true }),
    async (t) => {
      await t.deliver('stripe', 'invoice.paid')
      await t.drain()
      await expect(t).toHaveTakenEffectOnce('select * from paid')
    },
  )

  await expect(caught).rejects.toThrow('not written through `tx`')
})

test('a class of one entry is that of the others', () => {
  expect(() => stripe({ secrets: [] })).toThrow(HookonceError)
  expect(() => sqliteStore('')).toThrow(OptionInvalidError)
})
