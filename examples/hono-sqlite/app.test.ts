import { stripe } from 'hookonce/providers'
import { crashAt, testInbox } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findNewerNode } from '../../test/support/newer-node.ts'
import { deliverTo, startExample } from '../../test/support/run-example.ts'
import { createSqlite } from '../../test/support/sqlite-database.ts'
import { addHandlers, CREATE_PAYMENTS } from './handlers.ts'

/** The handlers of the service on a database of their own. */
const makeInbox = () =>
  testInbox({ sources: { stripe }, setup: CREATE_PAYMENTS, handlers: addHandlers })

describe('Hono and SQLite', () => {
  test('the service books an invoice once that is delivered ten times at once', async () => {
    const { file, query, close } = await createSqlite()
    onTestFinished(close)
    const { url, stop } = await startExample('hono-sqlite/app.ts', { env: { DATABASE_FILE: file } })

    const answers = await deliverTo(`${url}/webhooks/stripe`, { key: 'evt_1' })

    expect(answers.toSorted()).toEqual(['200 accepted', ...Array(9).fill('200 duplicate')])
    const payments = async () => (await fetch(`${url}/payments`)).json() as Promise<unknown>
    const paid = { invoice: 'in_1Example00000000000000001', cents: 4200 }
    await expect.poll(payments).toEqual([paid])
    expect(await stop()).toBe(0)
    expect(await query('select invoice, cents from payments')).toMatchObject([paid])
  })

  test('the same on a Node with a SQLite of its own', { timeout: 300_000 }, async ({ skip }) => {
    const newer = await findNewerNode()
    if ('missing' in newer) return skip(newer.missing)
    const { file, query, close } = await createSqlite()
    onTestFinished(close)
    const env = { DATABASE_FILE: file }
    const { url, stop } = await startExample('hono-sqlite/app.ts', { env, node: newer.path })

    await deliverTo(`${url}/webhooks/stripe`, { key: 'evt_1' })

    const payments = () => query('select invoice, cents from payments')
    await expect.poll(payments).toHaveLength(1)
    expect(await stop()).toBe(0)
  })

  test('an invoice is booked once, wherever the process dies', async () => {
    const points = await crashAt.each(makeInbox, async (t) => {
      const paid = await t.deliver('stripe', 'invoice.paid', { times: 2 })
      await t.drain()
      await expect(paid).toBeDone()
      await expect(t).toHaveTakenEffectOnce('select * from payments')
    })

    expect(points).toContain('after-commit')
  })
})
