/** Compiled, and never run: what `expect` of `@jest/globals` knows of the matchers. */

import { expect, test } from '@jest/globals'
import { hookonceMatchers } from '../../dist/testing/index.js'
import type { Delivered, TestInbox } from '../../dist/testing/index.js'
import type {} from '../../dist/testing/runners/jest-globals.js'

declare const t: TestInbox
declare const paid: Delivered

expect.extend(hookonceMatchers)

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
