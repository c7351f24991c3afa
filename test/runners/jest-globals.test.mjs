import { expect, jest, test } from '@jest/globals'
import 'hookonce/testing/jest-globals'
import { makeInbox } from './handlers.mjs'

jest.setTimeout(120_000)

test('the expect of @jest/globals has the matchers by an import', async () => {
  const t = await makeInbox()
  const paid = await t.deliver('stripe', 'invoice.paid', { times: 2 })
  await t.drain()
  await expect(paid).toBeDone()
  await expect(t).toHaveTakenEffectOnce('select * from paid')
  await t.close()
})
