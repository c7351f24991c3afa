import { describe, expect, inject, onTestFinished, test } from 'vitest'
import type { Operator } from '../../src/admin/operator.ts'
import type { AdminServerOptions } from '../../src/gateway/admin/admin-server.ts'
import type { Role } from '../../src/gateway/admin/roles.ts'
import { ROUTES } from '../../src/gateway/admin/routes.ts'
import { hashSecret } from '../../src/gateway/admin/secret-text.ts'
import { exchange } from '../support/exchange.ts'
import type { Asked } from '../support/exchange.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { rawSender } from '../support/raw-exchange.ts'
import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'
import { sendUnread } from '../support/send-unread.ts'
import { startAdmin } from '../support/through-gateway.ts'

const TOKEN = 'a token of the config'
const sqlite = sqliteUnderTest('libsql')
const FORM_TYPES = [
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
]
/** Everything that changes something, with a path to it. */
const MUTATIONS = Object.entries(ROUTES)
  .filter(([, { method }]) => method !== 'GET')
  .map(([name, { path }]) => [name, `/api/v1${path.replace(/\{.+?\}/g, 'x')}`] as const)

const POST = 'POST /api/v1/pauses HTTP/1.1\r\nhost: localhost\r\n'

describe('the admin API', () => {
  test('answers a refused action with 409, why, and what to do instead', async () => {
    const { inbox, deliverUntil, ask } = await start()
    inbox.on('stripe', 'invoice.paid', () => undefined)
    await inbox.start()
    const { eventId } = await deliverUntil('evt_1', 'event.done')

    const answer = await ask('POST', `/api/v1/events/${eventId}/retry`, { body: {} })

    expect(answer.status).toBe(409)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.json).toEqual({
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      code: 'EVENT_DONE',
      detail: 'The event is done: its effects have happened.',
      instead: 'Replay it, if it must run once more.',
    })
  })

  test('Y06: answers an action that needs an erased payload with 422, and says when it was erased', async () => {
    const { inbox, deliverUntil, ask } = await start()
    inbox.on('stripe', 'invoice.paid', () => undefined)
    await inbox.start()
    const { eventId } = await deliverUntil('evt_1', 'event.done')
    await inbox.admin.erase(eventId, { reason: 'asked for' })

    const answer = await ask('POST', `/api/v1/events/${eventId}/replay`, {
      body: { reason: 'once more' },
    })

    expect(answer.status).toBe(422)
    expect(answer.json).toMatchObject({
      status: 422,
      code: 'PAYLOAD_ERASED',
      detail: expect.stringMatching(/^Payload erased on \d{4}-/) as string,
      instead: expect.any(String) as string,
    })
  })

  test('hands out the request that brought an event, byte for byte and not to be shown', async () => {
    const { deliverBytes, inbox, ask } = await start()
    const bytes = Buffer.from([0xff, 0x00, 0x3c, 0x73])
    await deliverBytes('ping_1', bytes)
    const [event] = await inbox.admin.find('ping_1')

    const answer = await ask('GET', `/api/v1/events/${event?.id}/request`)

    expect(answer.body).toEqual(bytes)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
  })

  test.each([
    ['/api/v1/events?filtr=state:dead', 'did you mean "filter"?'],
    ['/api/v1/events?filter=stat:dead', 'did you mean "state"?'],
    ['/api/v1/events?limit=many', 'query.limit'],
    ['/api/v1/events?limit=1&limit=2', 'query.limit can be said once'],
    ['/api/v1/groups?since=yesterday', 'query.since'],
    ['/api/v1/messages?state=dead', 'query'],
    ['/api/v1/messages?filter=state:failed', 'There are: ready, sending'],
  ])('says what is wrong with %s', async (path, words) => {
    const { ask } = await start()

    const answer = await ask('GET', path)

    expect(answer).toMatchObject({ status: 400, json: { code: 'OPTION_INVALID' } })
    expect(answer.json['detail']).toContain(words)
  })

  test.each([
    ['{"reson":"x"}', 400, 'did you mean "reason"?'],
    ['{"reason":7}', 400, 'body.reason'],
    ['[]', 400, 'body'],
    ['{', 400, 'The body is not JSON'],
    [`{"reason":"${'x'.repeat(300_000)}"}`, 413, 'at most'],
  ])('says what is wrong with the body %.20s', async (text, status, words) => {
    const { ask } = await start()

    const answer = await ask('POST', '/api/v1/events/x/retry', { text })

    expect(answer.status).toBe(status)
    expect(answer.json['detail']).toContain(words)
  })

  test('refuses a body without a length once it is too large, and goes on for others', async () => {
    const { ask } = await start()
    const text = `{"reason":"${'x'.repeat(300_000)}"}`

    const endless = await ask('POST', '/api/v1/events/x/retry', {
      text,
      headers: { 'transfer-encoding': 'chunked' },
    })

    expect(endless.status).toBe(413)
    expect(await ask('GET', '/api/v1/pauses')).toMatchObject({ status: 200, json: [] })
  })

  test.each([
    ['GET', '/api/v1/nothing', 404],
    ['GET', '/in/stripe', 404],
    ['POST', '/api/v1/stats', 405],
    ['GET', '/api/v1/events/%ff/record', 404],
  ])('answers %s %s with %d', async (method, path, status) => {
    const { ask } = await start()

    expect(await ask(method, path, { body: {} })).toMatchObject({
      status,
      json: { code: 'REQUEST_REFUSED' },
    })
  })

  test.each([
    ['no request', 'GARBAGE\r\n\r\n', 400],
    ['no host', 'GET /api/v1/stats HTTP/1.1\r\n\r\n', 421],
    ['two hosts', 'GET /api/v1/stats HTTP/1.1\r\nhost: localhost\r\nhost: evil\r\n\r\n', 421],
    ['two lengths', `${POST}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`, 400],
    ['headers without an end', `${POST}x-long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['an expectation', `${POST}expect: a miracle\r\n\r\n`, 417],
  ])('answers %s as a problem, too', async (_name, bytes, status) => {
    const { url } = await start()
    const sender = await rawSender(Number(new URL(url).port))
    onTestFinished(() => void sender.socket.destroy())
    sender.write(bytes)

    const answer = await sender.answered('"}')

    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toMatch(/^content-type: application\/problem\+json\r$/im)
    const [, body = ''] = answer.split('\r\n\r\n')
    expect(JSON.parse(body)).toMatchObject({ status, code: 'REQUEST_REFUSED' })
  })

  test('R78: cuts off a client that reads no answer, and answers others', async () => {
    const { url, ask } = await start({ unreadMs: 100 })

    await sendUnread(Number(new URL(url).port))

    expect((await ask('GET', '/api/v1/pauses')).status).toBe(200)
  })

  test('S04: tells nothing of an error that was not foreseen', async () => {
    const failing = {
      stats: () => Promise.reject(new Error('Key (email)=(ada@example.com) already exists.')),
    }
    const { ask } = await start({ operator: () => failing as unknown as Operator })

    const answer = await ask('GET', '/api/v1/stats')

    expect(answer).toMatchObject({ status: 500, json: { code: 'GATEWAY_FAILED' } })
    expect(answer.body.toString()).not.toContain('ada@example.com')
  })
})

describe('the admin API answers no stranger:', () => {
  test.each([
    ['no token', undefined],
    ['a wrong token', 'Bearer another token'],
    ['no bearer', `Basic ${TOKEN}`],
    ['a token that was never made', 'Bearer hko_unknown'],
  ])('%s', async (_, authorization) => {
    const { ask } = await start({ token: TOKEN.replaceAll(' ', '-') })

    const answer = await ask('GET', '/api/v1/stats', {
      headers: authorization === undefined ? {} : { authorization },
    })

    expect(answer).toMatchObject({ status: 401, json: { code: 'ACCESS_DENIED' } })
    expect(answer.headers['www-authenticate']).toBe('Bearer')
  })

  test.each([
    ['evil.example', 421],
    ['evil.example:4401', 421],
    ['localhost.evil.example', 421],
    ['127.0.0.1.evil.example', 421],
    ['localhost', 200],
    ['LOCALHOST:4401', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:4401', 200],
    ['hooks.example.com', 200],
  ])('D04: a name that was made to lead here, %j: %d', async (host, status) => {
    const { ask } = await start({ hosts: ['hooks.example.com'] })

    expect(await ask('GET', '/api/v1/pauses', { headers: { host } })).toMatchObject({ status })
  })

  test.each([
    ['http://evil.example', 403],
    ['http://localhost:3000', 403],
    ['null', 403],
    ['https://hooks.example.com', 200],
  ])('D03: a page of another site, %s: %d', async (origin, status) => {
    const { ask } = await start({ hosts: ['hooks.example.com'] })

    const answer = await ask('GET', '/api/v1/pauses', { headers: { origin } })

    expect(answer.status).toBe(status)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual(
      [],
    )
  })

  test.each(MUTATIONS)(
    'D03: a page or a form of another site, which asks for %s',
    async (_, path) => {
      const { ask, inbox } = await start()
      const body = { target: { source: 'stripe' }, reason: 'none' }
      const fromPage = (origin: string) => ask('POST', path, { body, headers: { origin } })
      const fromForm = (type: string) =>
        ask('POST', path, { text: JSON.stringify(body), headers: { 'content-type': type } })

      const pages = await Promise.all(['http://evil.example', 'null'].map(fromPage))
      const forms = await Promise.all(FORM_TYPES.map(fromForm))
      const asRead = await ask('GET', path)

      expect(pages.map(({ status }) => status)).toEqual([403, 403])
      expect(forms.map(({ status }) => status)).toEqual([415, 415, 415])
      // What a link or a picture can ask for is a GET, and it acts on nothing.
      expect([404, 405, 200]).toContain(asRead.status)
      expect(await inbox.admin.listAudit()).toEqual([])
      expect(await inbox.admin.listPauses()).toEqual([])
    },
  )
})

const shared = inject('postgres')
const stores: readonly StoreUnderTest[] = [
  sqlite,
  ...(shared === null ? [] : [postgresUnderTest('PostgreSQL', () => shared)]),
]

describe.each(stores)('D08: a query that means harm, on $name', (underTest) => {
  test.each([
    `source:x' or '1'='1`,
    `key:"'; drop table hookonce_events; --"`,
    `key:"'; drop table hookonce.events; --"`,
    `text:"$1\\\\'; select pg_sleep(60); --"`,
    'text:%',
    'text:_',
    `text:"(a+)+$"`,
    `where:"$.a'] ; drop table hookonce_events; --=1"`,
    `source:stripe) union select 1 --`,
  ])('%s is a text to look for, or is refused', async (filter) => {
    const { ask, inbox, deliverBytes } = await start({}, underTest)
    await deliverBytes('ping_1', Buffer.from('{}'))

    const { status, json } = await ask('GET', `/api/v1/events?filter=${encodeURIComponent(filter)}`)

    expect([200, 400]).toContain(status)
    if (status === 200) expect(json).toMatchObject({ events: [] })
    expect(await inbox.admin.countEvents()).toBe(1)
  })

  test.each(
    Object.entries(ROUTES)
      .filter(([, { query }]) => Object.keys(query?.shape ?? {}).includes('limit'))
      .map(([name, { path, query }]) => [name, path, 'key' in (query?.shape ?? {})] as const),
  )('a page of %s has an end, whatever was asked for', async (_name, path, needsKey) => {
    const { ask } = await start({}, underTest)
    const key = needsKey ? '&key=evt_1' : ''

    const { status, json } = await ask('GET', `/api/v1${path}?limit=1000000000${key}`)

    expect(status).toBe(400)
    expect(json['detail']).toContain('query.limit')
  })

  test.each(['sort=body', 'order=1;drop table hookonce_events'])(
    'there is no order to ask for: %s',
    async (query) => {
      const { ask } = await start({}, underTest)

      expect((await ask('GET', `/api/v1/events?${encodeURI(query)}`)).status).toBe(400)
    },
  )
})

describe('the roles', () => {
  test.each(Object.entries(ROUTES).map(([name, route]) => [name, route] as const))(
    'D06: let no lesser one do %s',
    async (_, { method, path, role }) => {
      const { ask } = await start({ token: TOKEN.replaceAll(' ', '-'), ...withTokens() })
      const order: readonly Role[] = ['viewer', 'operator', 'admin']

      const answers = await Promise.all(
        order.map((each) =>
          ask(method, `/api/v1${path.replace(/\{.+?\}/g, 'x')}`, {
            body: {},
            headers: { authorization: `Bearer hko_${each}` },
          }),
        ),
      )

      const refused = answers.map(({ status }) => status === 403)
      expect(refused).toEqual(order.map((each) => order.indexOf(each) < order.indexOf(role)))
      expect(method === 'GET' ? 'viewer' : role).toBe(role)
    },
  )

  test('are told, and the audit has the name of the token before what a person says', async () => {
    const { ask, inbox } = await start({ token: TOKEN.replaceAll(' ', '-'), ...withTokens() })
    const body = { target: { source: 'stripe' }, actor: 'ada' }

    const viewer = await ask('POST', '/api/v1/pauses', { body, ...as('hko_viewer') })
    const operator = await ask('POST', '/api/v1/pauses', { body, ...as('hko_operator') })
    const admin = await ask('POST', '/api/v1/pauses/resume', {
      body: { target: { source: 'stripe' } },
      ...as(TOKEN.replaceAll(' ', '-')),
    })

    expect(viewer).toMatchObject({
      status: 403,
      json: {
        code: 'ROLE_TOO_LOW',
        detail: 'This needs the role operator, and the token has the role viewer.',
      },
    })
    expect([operator.status, admin.status]).toEqual([200, 200])
    expect(await inbox.admin.listAudit()).toMatchObject([
      { action: 'resume', actor: 'admin' },
      { action: 'pause', actor: 'token-operator/ada' },
    ])
  })
})

function as(token: string): { readonly headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}` } }
}

/** Of each role one, under `hko_<role>`. */
function withTokens(): Pick<AdminServerOptions, 'findToken'> {
  const roles: readonly Role[] = ['viewer', 'operator', 'admin']
  return {
    findToken: async (hash) => {
      const role = roles.find((each) => hashSecret(`hko_${each}`).equals(hash))
      return role && { name: `token-${role}`, role }
    },
  }
}

async function start(
  options: Partial<AdminServerOptions> = {},
  underTest: StoreUnderTest = sqlite,
) {
  const opened = await openInbox(underTest)
  const { url } = await startAdmin({ operator: () => opened.inbox.admin, ...options })
  return { ...opened, url, ask: (...asked: Asked) => exchange(url, ...asked) }
}
