import { rejects } from 'node:assert/strict'
import { test } from 'node:test'
import {
  crashAt,
  expectDone,
  expectEffectOnce,
  expectMadeOnce,
  expectSentOnce,
} from 'hookonce/testing'
import { makeInbox } from './handlers.mjs'

test('the kit runs in node:test, wherever the process dies', async () => {
  await crashAt.each(makeInbox, async (t) => {
    const paid = await t.deliver('stripe', 'invoice.paid', { times: 5, parallel: true })
    await t.deliver('stripe', 'checkout.session.completed')
    await t.drain()
    await expectDone(paid)
    await expectEffectOnce(t, 'select * from paid')
    expectSentOnce(t.messages('mail'))
    expectMadeOnce(t.calls('charge'))
  })
})

test('a mistake is told in node:test as it is elsewhere', async () => {
  const t = await makeInbox({ isOutside: true })
  t.crashAt('after-handler')
  await t.deliver('stripe', 'invoice.paid')
  await t.drain()
  await rejects(expectEffectOnce(t, 'select * from paid'), /not written through `tx`/)
  await t.close()
})
