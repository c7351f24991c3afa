import { expect, test } from 'vitest'
import { stripeEvents } from '../../src/backfill/index.ts'
import type { BackfillEvent } from '../../src/backfill/index.ts'
import { startApi } from './api-server.ts'

const SINCE = new Date('2026-11-01T00:00:00Z')
const UNTIL = new Date('2026-11-16T00:00:00Z')

/** As Stripe lists an event. */
function event(id: string): string {
  return `{"id":"${id}","object":"event","api_version":"2026-09-30","created":1762300800,"data":{"object":{"id":"in_1","amount":12345678901234567890}},"livemode":false,"pending_webhooks":1,"request":{"id":null,"idempotency_key":null},"type":"invoice.paid"}`
}

test('lists every page from where the last one ended, within the time', async () => {
  const { baseUrl, requests } = await startApi(({ url }) => ({
    body: url.searchParams.has('starting_after')
      ? `{"object":"list","url":"/v1/events","has_more":false,"data":[${event('evt_3')}]}`
      : `{"object":"list","url":"/v1/events","has_more":true,"data":[${event('evt_1')},${event('evt_2')}]}`,
  }))
  const client = stripeEvents({ apiKey: 'rk_live_x', account: 'acct_1', baseUrl })

  const events: BackfillEvent[] = []
  for (let cursor: string | undefined; ;) {
    const page = await client.list({ since: SINCE, until: UNTIL, cursor })
    events.push(...page.events)
    if (page.next === undefined) break
    cursor = page.next
  }

  expect(events.map(({ key }) => key)).toEqual(['evt_1', 'evt_2', 'evt_3'])
  expect(events[0]).toMatchObject({ type: 'invoice.paid', occurredAt: new Date(1762300800000) })
  expect(requests[0]?.headers).toMatchObject({
    authorization: 'Bearer rk_live_x',
    'stripe-account': 'acct_1',
  })
  expect(Object.fromEntries(requests[1]?.url.searchParams ?? [])).toEqual({
    limit: '100',
    'created[gte]': String(SINCE.getTime() / 1000),
    'created[lte]': String(UNTIL.getTime() / 1000),
    starting_after: 'evt_2',
  })
  const { body } = (await events[0]?.load()) ?? {}
  expect(Buffer.from(body ?? []).toString()).toBe(event('evt_1'))
})

test('is stopped by a key that may not read events, and does not tell the key', async () => {
  const { baseUrl } = await startApi(() => ({
    status: 403,
    body: '{"error":{"message":"The provided key does not have the required permissions"}}',
  }))

  const error = await stripeEvents({ apiKey: 'rk_live_x', baseUrl })
    .list({ since: SINCE, until: UNTIL })
    .catch((thrown: unknown) => thrown)

  expect(error).toMatchObject({ code: 'BACKFILL_STOPPED', status: 403 })
  expect(String(error)).not.toContain('rk_live_x')
})

const LIST = { since: SINCE, until: UNTIL }
const ONE = `{"object":"list","url":"/v1/events","has_more":false,"data":[${event('evt_1')}]}`

test.each([
  { status: 429, headers: { 'retry-after': '0' } },
  // Without a header, as Stripe's rate limiter has answered.
  {
    status: 429,
    body: '{"error":{"message":"Request rate limit exceeded","code":"rate_limit","type":"invalid_request_error"}}',
  },
  { status: 503, body: '' },
])('tries again after $status $headers', async (slowDown) => {
  const { baseUrl, requests } = await startApi((_, count) =>
    count === 1 ? slowDown : { body: ONE },
  )

  const page = await stripeEvents({ apiKey: 'rk_live_x', baseUrl }).list(LIST)

  expect(page.events.map(({ key }) => key)).toEqual(['evt_1'])
  expect(requests.map(({ url }) => url.search)).toEqual(
    Array.from({ length: 2 }, () => requests[0]?.url.search),
  )
})

test('waits for what Retry-After says, and not for longer than its patience', async () => {
  const { baseUrl, requests } = await startApi(() => ({
    status: 429,
    headers: { 'retry-after': '61' },
  }))
  const client = stripeEvents({ apiKey: 'rk_live_x', baseUrl, patienceMs: 60_000 })

  await expect(client.list(LIST)).rejects.toMatchObject({
    code: 'BACKFILL_STOPPED',
    retryable: true,
    message: 'Stripe asks to wait for 61 s (429)',
  })
  expect(requests).toHaveLength(1)
})

test.each([
  {
    status: 404,
    body: '{"error":{"message":"Unrecognized request URL","type":"invalid_request_error"}}',
  },
  { status: 410, body: '{"error":{"message":"Gone"}}' },
  // The event that the last page ended with is past the 30 days by now, or of another account.
  {
    status: 400,
    body: `{"error":{"code":"resource_missing","message":"No such event: 'evt_0'","param":"starting_after","type":"invalid_request_error"}}`,
  },
])('is stopped at once by a page that is $status', async (answer) => {
  const { baseUrl, requests } = await startApi(() => answer)

  const listing = stripeEvents({ apiKey: 'rk_live_x', baseUrl }).list({ ...LIST, cursor: 'evt_0' })

  await expect(listing).rejects.toMatchObject({
    code: 'BACKFILL_STOPPED',
    retryable: false,
    status: answer.status,
  })
  expect(requests).toHaveLength(1)
})

test('is stopped by a page that says there is more and names no event', async () => {
  const { baseUrl } = await startApi(() => ({
    body: '{"object":"list","url":"/v1/events","has_more":true,"data":[{"object":"event"}]}',
  }))

  await expect(stripeEvents({ apiKey: 'rk_live_x', baseUrl }).list(LIST)).rejects.toMatchObject({
    code: 'BACKFILL_STOPPED',
  })
})
