import { jest } from '@jest/globals'
import { crashAt } from 'hookonce/testing'
import 'hookonce/testing/jest'
import { makeInbox } from './handlers.mjs'

jest.setTimeout(120_000)
test('the kit runs in jest, and its matchers with it', async () => {
  const t = await makeInbox()
  const paid = await t.deliver('stripe', 'invoice.paid', { times: 5, parallel: true })
  await t.deliver('stripe', 'checkout.session.completed')
  await t.drain()

  await expect(paid).toBeDone()
  await expect(paid).not.toBeDead()
  await expect(t).toHaveTakenEffectOnce('select * from paid')
  expect(t.messages('mail')).toHaveBeenSentOnce()
  expect(t.calls('charge')).toHaveBeenMadeOnce()
  await t.close()
})

test('a mistake is told in jest as it is elsewhere', async () => {
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
