/** Compiled, and never run: what `expect` of `@jest/globals` knows of the matchers. */

import { expect, test } from '@jest/globals'
import type { Delivered, TestInbox } from 'hookonce/testing'
import 'hookonce/testing/jest-globals'

declare const t: TestInbox
declare const paid: Delivered

test('matchers have their types', async () => {
  await expect(t).toHaveTakenEffectOnce('select * from paid where id = $1', ['a'])
  await expect(paid).toBeDone()
  await expect(paid).not.toBeDead(/no such invoice/)
  expect(t.messages('mail')).toHaveBeenSentOnce()
  expect(t.calls('charge')).toHaveBeenMadeOnce()
  // @ts-expect-error a query is wanted
  await expect(t).toHaveTakenEffectOnce()
  // @ts-expect-error there is no such matcher
  expect(paid).toBeGone()
  // Those of jest are still there.
  expect(paid).toBeDefined()
})
