/** The blocks that register handlers, on the pages of handlers, steps and SQLite, as services on SQLite. */

import { expect, test } from 'vitest'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { serveBlock } from './serve-block.ts'
import type { BlockDelivery } from './serve-block.ts'

function find(page: string, text: string): string {
  const found = assembleSnippets(listBlocks(readPage(page))).filter(({ code }) =>
    code.includes(text),
  )
  expect(found).toHaveLength(1)
  return found[0]?.code ?? ''
}

const HANDLERS = 'docs/guides/handlers.md'
const STEPS = 'docs/guides/steps.md'

/** An event of Stripe's, its object's id made of the type. */
function fromStripe(
  type: string,
  object: object = {},
  others: Partial<BlockDelivery> = {},
): BlockDelivery {
  const key = `evt_${type.replaceAll('.', '_')}`
  return { type, key, body: { object: 'event', data: { object } }, ...others }
}

/** Notes the outside calls, and answers with a label. */
const CARRIER = `
const calls = []
globalThis.fetch = async (url, { headers }) => {
  calls.push([url, typeof headers['idempotency-key']])
  return Response.json({ url: 'https://carrier.example/label' })
}`

/** What a message is sent to. */
const WAREHOUSE = `
import { createServer } from 'node:http'
let arrive
const arrived = new Promise((resolve) => (arrive = resolve))
const server = createServer(async (request, response) => {
  arrive(Buffer.concat(await request.toArray()).toString())
  response.end()
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const warehouse = \`http://127.0.0.1:\${server.address().port}/labels\``

test('the handlers of the page of handlers take effect once, and end as it says', async () => {
  const [refused, moved] = ['payout.failed', 'payout.canceled'] as const
  const rows = await serveBlock({
    engine: 'sqlite',
    before:
      'globalThis.transferWith = async (db) => { for (const text of TRANSFER) await db.query(text) }',
    code: `const TRANSFER = ['begin', "insert into transfers values ('t1')", 'commit']
      ${find(HANDLERS, "inbox.on('stripe', 'payout.paid'")}
      ${find(HANDLERS, 'export async function retryDead')}
      // The same handler for payouts that end otherwise.
      inbox.on('stripe', '${refused}', () => { throw permanent('no amount') })
      inbox.on('stripe', '${moved}', () => skip('no destination'))`,
    after: `deepEqualOf(await retryDead(inbox.admin, /no amount/), 1)`,
    tables: [
      'create table invoices (id text, status text)',
      "insert into invoices values ('in_1', 'open')",
      'create table customers (id integer primary key, stripe_id text, email text unique, failures int default 2)',
      "insert into customers (stripe_id, email) values ('cus_1', 'a@example.com'), ('cus_2', 'b@example.com')",
      'create table reminders (customer text, invoice text)',
      'create table merges (customer text)',
      'create table transfers (id text)',
      'create table payouts (id text, amount int)',
      'create table finalized (key text)',
    ],
    deliveries: [
      fromStripe('invoice.paid', { id: 'in_1' }),
      { source: 'github', type: 'push', key: 'push-1', body: {} },
      { source: 'github', type: 'issues', key: 'issues-1', body: { action: 'opened' } },
      fromStripe('customer.subscription.deleted'),
      fromStripe('charge.refunded'),
      fromStripe('customer.created', { id: 'cus_3', email: 'c@example.com' }),
      fromStripe('invoice.payment_failed', { id: 'in_1', customer: 'cus_1' }),
      // The address of another customer.
      fromStripe('customer.updated', { id: 'cus_1', email: 'b@example.com' }),
      fromStripe('transfer.created'),
      fromStripe('payout.paid', { id: 'po_1', amount: 5 }, { state: 'ready' }),
      fromStripe(refused, {}, { state: 'dead' }),
      fromStripe(moved, {}, { state: 'skipped' }),
      fromStripe('invoice.finalized'),
    ],
    select: `select
      (select group_concat(status) from invoices) as invoices,
      (select group_concat(stripe_id || ' ' || email || ' ' || failures) from customers) as customers,
      (select group_concat(customer || ' ' || invoice) from reminders) as reminders,
      (select group_concat(customer) from merges) as merges,
      (select count(*) from transfers) as transfers,
      (select count(*) from payouts) as payouts,
      (select group_concat(key) from finalized) as finalized`,
  })

  expect(rows).toEqual([
    {
      invoices: 'paid',
      customers: 'cus_1 a@example.com 3,cus_2 b@example.com 2,cus_3 c@example.com 2',
      reminders: null,
      merges: 'cus_1',
      transfers: 1,
      payouts: 0,
      finalized: 'evt_invoice_finalized',
    },
  ])
})

test('a handler whose source has the types of Stripe takes effect once', async () => {
  const rows = await serveBlock({
    engine: 'sqlite',
    code: find(HANDLERS, 'type BillingEvents'),
    tables: ['create table payments (invoice text, amount int)'],
    deliveries: [fromStripe('invoice.paid', { id: 'in_1', amount_paid: 500 })],
    select: 'select * from payments',
  })

  expect(rows).toEqual([{ invoice: 'in_1', amount: 500 }])
})

test('a service whose sources have the maps of their packages needs none of these', async () => {
  const opened = { action: 'opened', pull_request: { title: 'Mend it' } }

  await serveBlock({
    engine: 'sqlite',
    before: 'const lines = []; console.log = (line) => lines.push(line)',
    code: find(HANDLERS, 'StripeEventMap }'),
    after: `deepEqualOf(lines, ['Mend it'])`,
    tables: [],
    deliveries: [
      fromStripe('invoice.paid', { amount_paid: 500 }),
      { source: 'github', type: 'pull_request', key: 'pull-1', body: opened },
    ],
    select: 'select 1',
  })
})

test('a handler with a schema gets what fits, and an event that does not is dead', async () => {
  const hmac = {
    header: 'x-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    secrets: ['whsec_of_the_service_in_the_page'],
    key: 'json:$.event_id',
    type: 'json:$.type',
  }
  const type = 'order.shipped'
  const order = (parcels: unknown) => ({ order: { number: 'A1', parcels } })

  const rows = await serveBlock({
    engine: 'sqlite',
    code: find(HANDLERS, 'const OrderShipped'),
    tables: [
      'create table orders (number text, parcels int)',
      "insert into orders values ('A1', 0)",
    ],
    deliveries: [
      { source: 'partner', type, key: 'p1', body: order(2), hmac },
      { source: 'partner', type, key: 'p2', body: order('many'), hmac, state: 'dead' },
    ],
    select: 'select * from orders',
  })

  expect(rows).toEqual([{ number: 'A1', parcels: 2 }])
})

test('a handler that calls others gives them a key', async () => {
  const body = { admin_graphql_api_id: 'gid://shopify/Order/1' }

  await serveBlock({
    engine: 'sqlite',
    before: CARRIER,
    code: find(HANDLERS, "'orders/paid'"),
    after: `deepEqualOf(calls, [['https://carrier.example/labels', 'string']])`,
    tables: [],
    deliveries: [{ source: 'shop', provider: 'shopify', type: 'orders/paid', key: 'o1', body }],
    select: 'select 1',
  })
})

test('the step handlers of their page make each call and each effect once', async () => {
  const rows = await serveBlock({
    engine: 'sqlite',
    before: `${CARRIER}\n${WAREHOUSE}`,
    // Names that end in .example have no address, and are refused as destinations.
    code: find(STEPS, "'checkout.session.completed'").replace(
      "{ url: 'https://warehouse.example/labels' }",
      "{ url: warehouse, allow: ['127.0.0.1'] }",
    ),
    after: `deepEqualOf(await arrived, '{"label":"https://carrier.example/label"}')
      deepEqualOf(calls.toSorted(), [
        ['https://carrier.example/labels', 'string'],
        ['https://partner.example/refunds', 'string'],
      ])`,
    tables: ['create table orders (id integer primary key, session text, label text)'],
    deliveries: [
      fromStripe('checkout.session.completed', { id: 'cs_1' }),
      fromStripe('invoice.paid'),
      fromStripe('charge.refunded'),
    ],
    select: `select session, label, (select count(*) from hookonce_messages) as messages from orders`,
  })

  expect(rows).toEqual([{ session: 'cs_1', label: 'https://carrier.example/label', messages: 1 }])
})

test('the service of the page of SQLite takes effect once', async () => {
  const rows = await serveBlock({
    engine: 'sqlite',
    file: 'data/app.db',
    code: find('docs/guides/sqlite.md', "inbox.on('github', 'push'"),
    tables: ['create table pushes (key text, ref text)'],
    deliveries: [
      { source: 'github', type: 'push', key: 'push-1', body: { ref: 'refs/heads/main' } },
    ],
    select: 'select * from pushes',
  })

  expect(rows).toEqual([{ key: 'push-1', ref: 'refs/heads/main' }])
})
