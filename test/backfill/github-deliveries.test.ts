import { expect, test } from 'vitest'
import { githubDeliveries } from '../../src/backfill/index.ts'
import type { BackfillClient, BackfillEvent } from '../../src/backfill/index.ts'
import { startApi } from './api-server.ts'
import type { ApiRequest, ApiResponse } from './api-server.ts'

const SINCE = new Date('2026-11-14T00:00:00Z')
const UNTIL = new Date('2026-11-16T00:00:00Z')
const PATH = '/repos/octo/hello/hooks/42/deliveries'
/** Past what JavaScript counts exactly. */
const BIG_ID = '9007199254740993'

/** As GitHub lists a delivery. */
function summary(id: string, guid: string, more: object = {}): string {
  const rest = JSON.stringify({
    guid,
    delivered_at: '2026-11-15T12:00:00Z',
    redelivery: false,
    duration: 0.27,
    status: 'OK',
    status_code: 200,
    event: 'issues',
    action: 'opened',
    installation_id: null,
    repository_id: 1,
    throttled_at: null,
    ...more,
  })
  return `{"id":${id},${rest.slice(1)}`
}

/** As it shows one. */
function details(guid: string, payload: string): string {
  const headers = { 'X-GitHub-Delivery': guid, 'X-GitHub-Event': 'issues', Accept: '*/*' }
  return `{"id":1,"guid":"${guid}","request":{"headers":${JSON.stringify(headers)},"payload":${payload}},"response":{"headers":{},"payload":"ok"}}`
}

function page(summaries: readonly string[], cursor?: string): ApiResponse {
  const next = `<https://api.github.com${PATH}?per_page=100&cursor=${cursor}>; rel="next"`
  return {
    headers: cursor === undefined ? {} : { link: `<https://x/>; rel="first", ${next}` },
    body: `[${summaries.join(',')}]`,
  }
}

async function open(answer: (request: ApiRequest, count: number) => ApiResponse | 'cut') {
  const api = await startApi(answer)
  const options = { token: 'github_pat_x', of: 'octo/hello', hookId: 42 }
  return { ...api, client: githubDeliveries({ ...options, baseUrl: api.baseUrl }) }
}

async function listAll(client: BackfillClient): Promise<readonly BackfillEvent[]> {
  const events: BackfillEvent[] = []
  for (let cursor: string | undefined; ;) {
    const { events: some, next } = await client.list({ since: SINCE, until: UNTIL, cursor })
    events.push(...some)
    if (next === undefined) return events
    cursor = next
  }
}

test('lists every page, and shows its token to each', async () => {
  const { client, requests } = await open(({ url }) =>
    url.searchParams.get('cursor') === 'v1_2'
      ? page([summary('2', 'guid-2')])
      : page([summary('1', 'guid-1')], 'v1_2'),
  )

  const events = await listAll(client)

  expect(events).toMatchObject([
    { key: 'guid-1', type: 'issues', occurredAt: new Date('2026-11-15T12:00:00Z') },
    { key: 'guid-2' },
  ])
  expect(requests.map(({ url }) => url.pathname)).toEqual([PATH, PATH])
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(
    Array.from({ length: 2 }, () => 'Bearer github_pat_x'),
  )
})

test('goes no further back than it was asked to', async () => {
  const { client, requests } = await open(() =>
    page([summary('1', 'guid-1', { delivered_at: '2026-11-13T23:59:59Z' })], 'v1_2'),
  )

  await listAll(client)

  expect(requests).toHaveLength(1)
})

test('asks for a delivery by its exact number, and takes the payload as it is written there', async () => {
  const payload = '{ "action": "opened", "id": 12345678901234567890, "text": "\\u00e9" }'
  const { client, requests } = await open(({ url }) =>
    url.pathname === PATH
      ? page([summary(BIG_ID, 'guid-1')])
      : { body: details('guid-1', payload) },
  )
  const [event] = await listAll(client)

  const delivery = await event?.load()

  expect(requests.at(-1)?.url.pathname).toBe(`${PATH}/${BIG_ID}`)
  expect(Buffer.from(delivery?.body ?? []).toString()).toBe(payload)
  expect(delivery?.headers).toMatchObject({
    'x-github-delivery': 'guid-1',
    'x-github-event': 'issues',
    'content-type': 'application/json',
  })
})

test.each([
  { status: 403, headers: { 'retry-after': '0' } },
  { status: 429, headers: { 'retry-after': '0' } },
  { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' } },
  { status: 502, headers: {} },
])('tries again after $status $headers', async (slowDown) => {
  const { client, requests } = await open((_, count) =>
    count === 1 ? slowDown : page([summary('1', 'guid-1')]),
  )

  expect(await listAll(client)).toHaveLength(1)
  expect(requests).toHaveLength(2)
})

test('tries again after a connection that was cut', async () => {
  const { client } = await open((_, count) => (count === 1 ? 'cut' : page([summary('1', 'g')])))

  expect(await listAll(client)).toHaveLength(1)
})

test('is stopped by a wait that is longer than its patience, which it names', async () => {
  const { client, requests } = await open(() => ({
    status: 403,
    headers: { 'retry-after': '3600' },
  }))

  await expect(listAll(client)).rejects.toMatchObject({
    code: 'BACKFILL_STOPPED',
    retryable: true,
    message: 'GitHub asks to wait for 3600 s (403)',
  })
  expect(requests).toHaveLength(1)
})

test('waits for as long as the clock of GitHub says, whatever the clock here', async () => {
  const date = new Date(Date.now() + 3_600_000)
  const reset = Math.floor(date.getTime() / 1_000) + 90
  const { api, options } = await openImpatient({
    status: 403,
    headers: {
      date: date.toUTCString(),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(reset),
    },
  })

  await expect(listAll(githubDeliveries(options))).rejects.toMatchObject({
    retryable: true,
    message: 'GitHub asks to wait for 90 s (403)',
  })
  expect(api.requests).toHaveLength(1)
})

test('takes a limit that names no time for a minute', async () => {
  const { options } = await openImpatient({
    status: 403,
    body: '{"message":"You have exceeded a secondary rate limit. Please wait a few minutes."}',
  })

  await expect(listAll(githubDeliveries(options))).rejects.toMatchObject({
    retryable: true,
    message: 'GitHub asks to wait for 60 s (403)',
  })
})

/** An API that limits its callers, and a client that does not wait. */
async function openImpatient(answer: ApiResponse) {
  const api = await startApi(() => answer)
  const options = { token: 't', of: 'octo/hello', hookId: 42, baseUrl: api.baseUrl, patienceMs: 0 }
  return { api, options }
}

test('says how far the list of github.com goes back, and nothing of another server', () => {
  const options = { token: 't', of: 'octo/hello', hookId: 42 }

  expect(githubDeliveries(options).keptDays).toBe(3)
  expect(githubDeliveries({ ...options, baseUrl: 'https://git.example/api/v3' }).keptDays).toBe(
    undefined,
  )
})

test.each([
  { answer: { status: 401, body: '{"message":"Bad credentials"}' }, says: 'Bad credentials' },
  { answer: { status: 403, body: '{"message":"Must have admin rights"}' }, says: 'admin rights' },
  { answer: { status: 404, body: '{"message":"Not Found"}' }, says: '404' },
  { answer: { status: 301, headers: { location: 'http://127.0.0.1:1/' } }, says: '301' },
  { answer: { body: '{"message":"?"}' }, says: 'something else than a list' },
  { answer: { body: '<html>' }, says: 'something else than a list' },
])('is stopped at once by $answer.status $answer.body', async ({ answer, says }) => {
  const { client, requests } = await open(() => answer)

  const error = await listAll(client).catch((thrown: unknown) => thrown)

  expect(error).toMatchObject({ code: 'BACKFILL_STOPPED', retryable: false })
  expect(String(error)).toContain(says)
  expect(String(error)).not.toContain('github_pat_x')
  expect(requests).toHaveLength(1)
})

test.each([
  {
    status: 404,
    body: '{"message":"Not Found","documentation_url":"https://docs.github.com/rest"}',
  },
  { status: 410, body: '{"message":"Gone"}' },
  // A cursor is good for as long as the delivery that it stands for is kept.
  { status: 400, body: '{"message":"Invalid cursor"}' },
  { status: 422, body: '{"message":"Validation Failed","errors":[{"field":"cursor"}]}' },
])(
  'a page in the middle that is $status stops it there, and is not taken for the last',
  async (answer) => {
    const { client, requests } = await open(({ url }) =>
      url.searchParams.has('cursor') ? answer : page([summary('1', 'guid-1')], 'v1_2'),
    )
    const first = await client.list({ since: SINCE, until: UNTIL })
    expect(first).toMatchObject({ events: [{ key: 'guid-1' }], next: 'v1_2' })

    await expect(
      client.list({ since: SINCE, until: UNTIL, cursor: first.next }),
    ).rejects.toMatchObject({ code: 'BACKFILL_STOPPED', retryable: false, status: answer.status })
    expect(requests).toHaveLength(2)
  },
)

test.each([
  { of: 'nothing', answer: { status: 404, body: '{"message":"Not Found"}' } },
  { of: 'no payload', answer: { body: details('guid-1', 'null') } },
])('a delivery of which GitHub has $of is refused by itself', async ({ answer }) => {
  const { client } = await open(({ url }) =>
    url.pathname === PATH ? page([summary('1', 'guid-1')]) : answer,
  )
  const [event] = await listAll(client)

  await expect(event?.load()).rejects.toMatchObject({ code: 'BACKFILL_STOPPED' })
})

test('entries without what is needed are left out', async () => {
  const { client } = await open(() =>
    page(['{"id":"../../user","guid":"g","event":"e","delivered_at":"2026-11-15T12:00:00Z"}', '1']),
  )

  expect(await listAll(client)).toEqual([])
})

test.each([
  { of: 'octo', path: '/orgs/octo/hooks/42/deliveries', hookId: 42 },
  { of: 'app', path: '/app/hook/deliveries', hookId: undefined },
])('asks for the webhook of $of', async ({ of, path, hookId }) => {
  const { baseUrl, requests } = await startApi(() => page([]))
  const given = hookId === undefined ? {} : { hookId }

  await listAll(githubDeliveries({ token: 't', of, baseUrl: `${baseUrl}/`, ...given }))

  expect(requests[0]?.url.pathname).toBe(path)
})

test.each([
  [{ token: '', of: 'octo/hello', hookId: 1 }, 'githubDeliveries.token'],
  [{ token: 't', of: '../user', hookId: 1 }, 'githubDeliveries.of'],
  [{ token: 't', of: 'octo/hello' }, 'githubDeliveries.hookId'],
  [{ token: 't', of: 'octo/hello', hookId: 1, baseUrl: 'file:///' }, 'githubDeliveries.baseUrl'],
  [{ token: 't', of: 'octo/hello', hookId: 1, hook: 2 }, 'hook'],
])('refuses %o by name', (options, name) => {
  expect(() => githubDeliveries(options as never)).toThrow(name)
})
