import { expect, test } from 'vitest'
import 'hookonce/testing/vitest'
import { makeInbox } from './handlers.mjs'

test('the expect of vitest has the matchers by an import', { timeout: 120_000 }, async () => {
  const t = await makeInbox()
  const paid = await t.deliver('stripe', 'invoice.paid', { times: 2 })
  await t.drain()
  await expect(paid).toBeDone()
  await expect(expect(paid).toBeDead()).rejects.toThrow('done')
  await expect(t).toHaveTakenEffectOnce('select * from paid')
  await t.close()
})
