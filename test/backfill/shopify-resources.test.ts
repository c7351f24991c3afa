import { expect, test } from 'vitest'
import { shopifyResources } from '../../src/backfill/index.ts'
import type { BackfillEvent, ShopifyResourcesOptions } from '../../src/backfill/index.ts'
import { startApi } from './api-server.ts'

const SINCE = new Date('2026-11-01T00:00:00Z')
const UNTIL = new Date('2026-11-16T00:00:00Z')
const BIG_ID = '9007199254740993'

const order = (id: string) => `{"id":${id},"updated_at":"2026-11-05T10:00:00-05:00","name":"#1"}`

async function listAll(
  baseUrl: string,
  options: Partial<ShopifyResourcesOptions> = {},
): Promise<readonly BackfillEvent[]> {
  const client = shopifyResources({
    shop: 'octo.myshopify.com',
    accessToken: 'shpat_x',
    apiVersion: '2026-10',
    resources: { orders: 'orders/updated', customers: 'customers/update' },
    baseUrl,
    ...options,
  })
  const events: BackfillEvent[] = []
  for (let cursor: string | undefined; ;) {
    const page = await client.list({ since: SINCE, until: UNTIL, cursor })
    events.push(...page.events)
    if (page.next === undefined) return events
    cursor = page.next
  }
}

test('lists every page of every resource, each state as an event of its own', async () => {
  const { baseUrl, requests } = await startApi(({ url }) => {
    if (url.pathname.endsWith('/customers.json')) return { body: '{"customers":[]}' }
    if (url.searchParams.has('page_info')) return { body: `{"orders":[${order('2')}]}` }
    const next = '<https://octo.myshopify.com/admin/api/2026-10/orders.json?limit=250&page_info=p2>'
    return { headers: { link: `${next}; rel="next"` }, body: `{"orders":[${order(BIG_ID)}]}` }
  })

  const events = await listAll(baseUrl)

  expect(events.map(({ key, type }) => [key, type])).toEqual([
    [`backfill:orders:${BIG_ID}:2026-11-05T10:00:00-05:00`, 'orders/updated'],
    ['backfill:orders:2:2026-11-05T10:00:00-05:00', 'orders/updated'],
  ])
  expect(requests.map(({ url }) => [url.pathname, Object.fromEntries(url.searchParams)])).toEqual([
    [
      '/admin/api/2026-10/orders.json',
      {
        limit: '250',
        updated_at_min: SINCE.toISOString(),
        updated_at_max: UNTIL.toISOString(),
        status: 'any',
      },
    ],
    ['/admin/api/2026-10/orders.json', { limit: '250', page_info: 'p2' }],
    [
      '/admin/api/2026-10/customers.json',
      {
        limit: '250',
        updated_at_min: SINCE.toISOString(),
        updated_at_max: UNTIL.toISOString(),
      },
    ],
  ])
  const { headers, body } = (await events[0]?.load()) ?? {}
  expect(Buffer.from(body ?? []).toString()).toBe(order(BIG_ID))
  expect(headers).toMatchObject({
    'x-shopify-topic': 'orders/updated',
    'x-shopify-shop-domain': 'octo.myshopify.com',
  })
})

test('leaves out what the user has', async () => {
  const { baseUrl } = await startApi(({ url }) => ({
    body: url.pathname.endsWith('/orders.json')
      ? `{"orders":[${order('1')},${order('2')}]}`
      : '{"customers":[]}',
  }))

  const events = await listAll(baseUrl, {
    has: async (resource) => (resource as { id: number }).id === 1,
  })

  expect(events).toHaveLength(1)
})

test.each([
  [{ apiVersion: 'latest' }, 'apiVersion'],
  [{ resources: {} }, 'resources'],
  [{ resources: { '../shop': 'x' } }, 'resources'],
])('refuses %o by name', (options, name) => {
  const make = () =>
    shopifyResources({
      shop: 's',
      accessToken: 't',
      apiVersion: '2026-10',
      resources: { orders: 'o' },
      ...(options as object),
    })
  expect(make).toThrow(`shopifyResources.${name}`)
})
