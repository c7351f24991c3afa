import { describe, expect, onTestFinished, test } from 'vitest'
import { githubDeliveries, shopifyResources, stripeEvents } from '../../src/backfill/index.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { github, shopify } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { startApi } from '../backfill/api-server.ts'
import type { ApiResponse } from '../backfill/api-server.ts'
import { openInbox, SECRET, untilDone } from '../support/inbox-under-test.ts'
import { WRITE } from '../support/step-handlers.ts'
import { openStore } from '../support/store-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const SINCE = new Date('2026-01-01T00:00:00Z')
const PAGES = [
  ['evt_6', 'evt_5'],
  ['evt_4', 'evt_3'],
  ['evt_2', 'evt_1'],
]
const KEYS = PAGES.flat().toSorted()

/** As Stripe lists its events: the page that follows the one that ended with an event. */
function listAfter(key: string | null): ApiResponse {
  const at = key === null ? 0 : PAGES.findIndex((page) => page.at(-1) === key) + 1
  const data = (PAGES[at] ?? []).map(
    (id) =>
      `{"id":"${id}","object":"event","created":1767323045,"data":{"object":{"amount":12345678901234567890}},"livemode":false,"type":"invoice.paid"}`,
  )
  const more = at + 1 < PAGES.length
  return {
    body: `{"object":"list","url":"/v1/events","has_more":${more},"data":[${data.join(',')}]}`,
  }
}

/** Run by `test/inbox/<store>.test.ts`. */
export function backfillOverHttpContract(store: StoreUnderTest): void {
  describe(`${store.name}: a back-fill over HTTP`, () => {
    test('goes on over pages, slow-downs and a page that is gone for a while, and each event runs once', async () => {
      const { inbox, deliver, countEffects } = await openInbox(store)
      await deliver('evt_3')
      let isGone = true
      const { baseUrl, requests } = await startApi(({ url }, count) => {
        const after = url.searchParams.get('starting_after')
        if (count === 2) return { status: 429, headers: { 'retry-after': '0' } }
        return after === 'evt_3' && isGone ? { status: 410, body: '{}' } : listAfter(after)
      })
      const from = stripeEvents({ apiKey: 'rk_live_x', baseUrl })

      const broken = await inbox.backfill('stripe', { from, since: SINCE })
      isGone = false
      const { cursor = '' } = broken
      const rest = await inbox.backfill('stripe', { from, since: SINCE, cursor })
      const whole = await inbox.backfill('stripe', { from, since: SINCE })

      expect(broken).toMatchObject({
        listed: 4,
        known: 1,
        missing: 3,
        isInOrder: false,
        isComplete: false,
        stoppedBy: expect.stringContaining('410') as string,
        cursor: 'evt_3',
      })
      expect(rest).toMatchObject({ listed: 2, known: 0, missing: 2, isComplete: true })
      expect(whole).toMatchObject({ listed: 6, known: 6, missing: 0, isComplete: true })
      expect(requests.slice(0, 4).map(({ url }) => url.searchParams.get('starting_after'))).toEqual(
        [null, 'evt_5', 'evt_5', 'evt_3'],
      )
      inbox.on('stripe', '*', async ({ key }, { tx }) => {
        await tx.query('insert into effects (event_key, note) values ($1, $2)', [key, 'done'])
      })
      const done = untilDone(inbox, KEYS.length)
      await inbox.start()
      await done
      expect(await countEffects()).toBe(KEYS.length)
      for (const key of KEYS) expect(await countEffects(key)).toBe(1)
    })

    test("takes GitHub's deliveries in once, whether they came before, come after all or were tried several times", async () => {
      const { inbox, countEffects, ran } = await openTwo(store)
      const received = sign('github', { key: 'guid-2', body: PAYLOAD }, { secret: SECRET })
      expect(await inbox.receive('github', received)).toMatchObject({ outcome: 'accepted' })
      let isAway = true
      const { baseUrl, requests } = await startApi(({ url }, count) => {
        const [, id] = /deliveries\/(\d+)$/.exec(url.pathname) ?? []
        if (count === 2) return { status: 403, headers: { 'retry-after': '0' } }
        if (id === '13' && isAway) return { status: 404, body: '{"message":"Not Found"}' }
        return id === undefined ? listDeliveries(url) : { body: showDelivery(`guid-${id[1]}`) }
      })
      const from = githubDeliveries({ token: 't', of: 'octo/hello', hookId: 42, baseUrl })

      const first = await inbox.backfill('github', { from, since: SINCE })
      isAway = false
      const second = await inbox.backfill('github', { from, since: SINCE })

      expect(first).toMatchObject({
        listed: 4,
        known: 1,
        missing: 2,
        failed: 1,
        failedEvents: [{ key: 'guid-3', reason: expect.stringContaining('404') as string }],
        isInOrder: true,
        isComplete: true,
      })
      expect(second).toMatchObject({ listed: 4, known: 3, missing: 1, failed: 0 })
      expect(requests.filter(({ url }) => url.pathname.endsWith('/12'))).toEqual([])
      // GitHub signs the bytes that it sent, which are not those that its API shows.
      for (const key of ['guid-1', 'guid-2', 'guid-4']) {
        const late = sign('github', { key, body: PAYLOAD }, { secret: SECRET })
        expect(await inbox.receive('github', late), key).toMatchObject({ outcome: 'duplicate' })
      }
      await ran(4)
      expect(await countEffects()).toBe(4)
      for (const nth of [1, 2, 3, 4]) expect(await countEffects(`guid-${nth}`)).toBe(1)
      expect(await inbox.admin.countEvents()).toBe(4)
    })

    test("takes Shopify's resources in through its limits and a page that is gone for a while, each state once", async () => {
      const { inbox, countEffects, ran } = await openTwo(store)
      let isGone = true
      const { baseUrl, requests } = await startApi(({ url }, count) => {
        if (count === 2) return { status: 429, headers: { 'retry-after': '0' } }
        const page = url.searchParams.get('page_info')
        if (page === 'p3' && isGone) return { status: 404, body: '{"errors":"Not Found"}' }
        return listOrders(url)
      })
      const from = shopifyResources({
        shop: 'octo.myshopify.com',
        accessToken: 'shpat_x',
        apiVersion: '2026-10',
        resources: { orders: 'orders/updated', customers: 'customers/update' },
        baseUrl,
      })

      const broken = await inbox.backfill('shopify', { from, since: SINCE })
      isGone = false
      const { cursor = '' } = broken
      const rest = await inbox.backfill('shopify', { from, since: SINCE, cursor })
      const whole = await inbox.backfill('shopify', { from, since: SINCE })

      expect(broken).toMatchObject({
        listed: 2,
        missing: 2,
        isInOrder: false,
        isComplete: false,
        stoppedBy: expect.stringContaining('404') as string,
        cursor: 'orders p3',
      })
      expect(rest).toMatchObject({ listed: 2, known: 0, missing: 2, isComplete: true })
      expect(whole).toMatchObject({ listed: 4, known: 4, missing: 0, isComplete: true })
      expect(requests.slice(0, 4).map(({ url }) => url.searchParams.get('page_info'))).toEqual([
        null,
        'p2',
        'p2',
        'p3',
      ])
      await ran(4)
      expect(await countEffects()).toBe(4)
      for (const [resource, id] of [
        ['orders', 1],
        ['orders', 2],
        ['orders', 3],
        ['customers', 4],
      ])
        expect(await countEffects(`backfill:${resource}:${id}:${UPDATED_AT}`)).toBe(1)
    })
  })
}

const PAYLOAD = '{ "action": "opened",  "number": 7 }'
const PATH = '/repos/octo/hello/hooks/42/deliveries'
const UPDATED_AT = '2026-05-05T10:00:00-05:00'

/** As GitHub lists deliveries: the latest first, and each try of one by itself. */
function listDeliveries(url: URL): ApiResponse {
  const isFirst = !url.searchParams.has('cursor')
  const numbers = isFirst ? [24, 14, 13] : [23, 12, 11]
  const summaries = numbers.map((id) =>
    JSON.stringify({
      id,
      guid: `guid-${id % 10}`,
      delivered_at: `2026-05-0${id % 10}T12:00:0${id > 20 ? 5 : 0}Z`,
      redelivery: id > 20,
      status_code: 502,
      event: 'issues',
      action: 'opened',
    }),
  )
  const link = `<https://api.github.com${PATH}?per_page=100&cursor=v1_2>; rel="next"`
  return { headers: isFirst ? { link } : {}, body: `[${summaries.join(',')}]` }
}

function showDelivery(guid: string): string {
  return JSON.stringify({
    guid,
    request: {
      headers: { 'X-GitHub-Delivery': guid, 'X-GitHub-Event': 'issues' },
      payload: JSON.parse(PAYLOAD) as unknown,
    },
  })
}

/** As Shopify lists resources, one to a page. */
function listOrders(url: URL): ApiResponse {
  const one = (id: number): string => `{"id":${id},"updated_at":"${UPDATED_AT}","name":"#${id}"}`
  if (url.pathname.endsWith('/customers.json')) return { body: `{"customers":[${one(4)}]}` }
  const at = Number(url.searchParams.get('page_info')?.slice(1) ?? 1)
  const link = `<https://octo.myshopify.com/admin/api/2026-10/orders.json?limit=250&page_info=p${at + 1}>; rel="next"`
  return { headers: at < 3 ? { link } : {}, body: `{"orders":[${one(at)}]}` }
}

/** An inbox with both, whose handlers leave an effect, and run once `ran` is asked. */
async function openTwo(underTest: StoreUnderTest) {
  const { database, createEffects, countEffects } = await openStore(underTest)
  await createEffects()
  const inbox = createInbox({
    store: database.newStore(),
    sources: { github: github({ secrets: [SECRET] }), shopify: shopify({ secrets: [SECRET] }) },
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    receive: { answerTimeoutMs: 30_000 },
    worker: { pollMs: 50 },
  })
  onTestFinished(() => inbox.stop())
  inbox.on('github', '*', ({ key }, { tx }) => tx.query(WRITE, [key, 'ran']))
  inbox.on('shopify', '*', ({ key }, { tx }) => tx.query(WRITE, [key, 'ran']))
  const ran = async (count: number): Promise<void> => {
    const done = untilDone(inbox, count)
    await inbox.start()
    await done
  }
  return { inbox, countEffects, ran }
}
