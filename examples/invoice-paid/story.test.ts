import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stripe } from 'hookonce/providers'
import { crashAt, outOfOrder, testInbox } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import { describe, expect, onTestFinished, test } from 'vitest'
import { deliverTo, startExample } from '../../test/support/run-example.ts'
import { createSqlite } from '../../test/support/sqlite-database.ts'
import { mail } from './mail.ts'
import { addHandlers, CREATE_TABLES } from './shop.ts'

const INVOICE = 'in_1Example00000000000000001'
const PAYMENTS = 'select * from payments'
const PARCELS = 'select * from parcels'

/** The handlers of the shop on a database of their own, with a parcel service that answers as the test says. */
function makeInbox(answerParcels = () => Response.json({ tracking: 'T1' })) {
  return testInbox({
    sources: { stripe },
    setup: CREATE_TABLES,
    destinations: [mail],
    fetch: answerParcels,
    handlers: addHandlers,
  })
}

describe('an invoice is paid', () => {
  test('update, receipt and parcel happen once, delivered five times at once', async () => {
    await using t = await makeInbox()

    const paid = await t.deliver('stripe', 'invoice.paid', { times: 5, parallel: true })
    await t.drain()

    await expect(paid).toBeDone()
    expect(await t.rows(PAYMENTS)).toEqual([{ invoice: INVOICE, cents: 4200 }])
    expect(await t.rows(PARCELS)).toEqual([{ invoice: INVOICE, tracking: 'T1' }])
    expect(t.calls('buy label')).toHaveBeenMadeOnce()
    expect(t.messages('mail').map(({ payload }) => payload)).toEqual([
      { template: 'receipt', invoice: INVOICE },
      { template: 'shipped', invoice: INVOICE, tracking: 'T1' },
    ])
  })

  test('the same, wherever the process dies: in each handler, and in each of their steps', async () => {
    const payload = anEvent({ id: 'evt_updated', created: 1_760_000_000, status: 'paid' })
    const points = await crashAt.each(makeInbox, async (t) => {
      await t.deliver('stripe', 'invoice.paid')
      await t.deliver('stripe', 'invoice.updated', { payload })
      await t.drain()

      await expect(t).toHaveTakenEffectOnce("select * from invoices where status = 'paid'")
      await expect(t).toHaveTakenEffectOnce(PAYMENTS)
      await expect(t).toHaveTakenEffectOnce(PARCELS)
      expect(t.calls('buy label')).toHaveBeenMadeOnce()
      // Sent twice under one key where the process died between sending and noting it: one mail, to the mail service.
      for (const template of ['receipt', 'shipped'])
        expect(
          t.messages('mail').filter(({ payload }) => isMail(payload, template)),
        ).toHaveBeenSentOnce()
    })

    expect(points).toEqual(expect.arrayContaining(['after-commit', 'after-call', 'after-send']))
  })

  test('out of order: the newest status stays, and the payment is booked in any order', async () => {
    const updated = (status: string, second: number) =>
      [
        'stripe',
        'invoice.updated',
        { payload: anEvent({ id: `evt_${status}`, created: 1_760_000_000 + second, status }) },
      ] as const

    await outOfOrder(
      makeInbox,
      [updated('open', 1), ['stripe', 'invoice.paid'], updated('paid', 2)],
      async (t) => {
        const found = {
          invoices: await t.rows('select id, status from invoices'),
          payments: await t.rows(PAYMENTS),
        }
        expect(found.invoices).toEqual([{ id: INVOICE, status: 'paid' }])
        return found
      },
    )
  })

  test('the parcel service is down for an hour: the receipt does not wait, and the parcel comes after', async () => {
    let isDown = true
    await using t = await makeInbox(() =>
      isDown ? new Response('closed', { status: 503 }) : Response.json({ tracking: 'T1' }),
    )

    const paid = await t.deliver('stripe', 'invoice.paid')
    await t.idle()
    expect((await paid.event())?.failures.at(-1)?.message).toContain('is down: 503')
    await expect(t).toHaveTakenEffectOnce(PAYMENTS)
    expect(t.messages('mail')).toMatchObject([{ payload: { template: 'receipt' } }])
    await t.clock.advance({ hours: 1 })
    await t.idle()
    expect(await t.rows(PARCELS)).toEqual([])

    isDown = false
    await t.drain()

    await expect(paid).toBeDone()
    await expect(t).toHaveTakenEffectOnce(PAYMENTS)
    await expect(t).toHaveTakenEffectOnce(PARCELS)
    // Three attempts with one key.
    expect(t.calls('buy label').filter(({ by }) => by === 'fetch')).toHaveLength(3)
    expect(t.calls('buy label')).toHaveBeenMadeOnce()
  })

  test('the service does all of it, between real servers', async () => {
    const { file, query, close } = await createSqlite()
    onTestFinished(close)
    const outside = await startOutside()
    const { url, stop } = await startExample('invoice-paid/app.ts', {
      env: {
        DATABASE_FILE: file,
        PARCELS_URL: `${outside.url}/labels`,
        MAIL_URL: `${outside.url}/send`,
      },
    })

    const answers = await deliverTo(`${url}/in/stripe`, { key: 'evt_1' })

    expect(answers.toSorted()).toEqual(['200 accepted', ...Array(9).fill('200 duplicate')])
    await expect.poll(() => outside.keys('/send').size).toBe(2)
    expect(await stop()).toBe(0)
    expect([...outside.keys('/labels')]).toEqual([expect.any(String)])
    expect(await query(PAYMENTS)).toMatchObject([{ invoice: INVOICE, cents: 4200 }])
    expect(await query(PARCELS)).toMatchObject([{ invoice: INVOICE, tracking: 'T1' }])
  })
})

function anEvent({ id, created, status }: { id: string; created: number; status: string }) {
  const object = { id: INVOICE, object: 'invoice', status }
  return {
    id,
    object: 'event',
    type: 'invoice.updated',
    created,
    livemode: false,
    data: { object },
  }
}

function isMail(payload: unknown, template: string): boolean {
  return (payload as { readonly template: string }).template === template
}

/** The parcel service and the mail service: they take everything, and remember under which keys. */
async function startOutside() {
  const taken: { readonly path: string; readonly key: unknown }[] = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      taken.push({ path: request.url ?? '', key: request.headers['idempotency-key'] })
      response.end(JSON.stringify({ tracking: 'T1' }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const keys = (path: string) =>
    new Set(taken.filter((one) => one.path === path).map(({ key }) => key))
  return { url: `http://127.0.0.1:${port}`, keys }
}
