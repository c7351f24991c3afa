import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import { jira } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'

const SECRET = 'shared-secret-of-the-site-000000000'
const NOW = new Date(1_760_000_000_000)
const PUBLIC_URL = 'https://app.example.com/addon/jira'
const QUERY = 'user_key=k&user_id=557058%3Aabc'
const CANONICAL_QUERY = 'user_id=557058%3Aabc&user_key=k'

describe('jira with a Connect app', () => {
  const source = jira({ secrets: [SECRET], publicUrl: PUBLIC_URL })

  test('believes a token for its own path and query', async () => {
    expect(await source.verify(deliver())).toEqual({ ok: true, secret: '1' })
  })

  test.each([
    ['another path', { hashed: `POST&/other&${CANONICAL_QUERY}` }],
    ['another method', { hashed: `GET&/addon/jira&${CANONICAL_QUERY}` }],
    ['a page, which is bound to no request', { qsh: 'context-qsh' }],
    ['no request at all', { qsh: undefined }],
  ])('refuses a token for %s', async (_, token) => {
    expect(await source.verify(deliver({ token }))).toMatchObject({ ok: false })
  })

  test('refuses another query, and none', async () => {
    for (const url of [`/in/jira?${QUERY}1`, '/in/jira', `/in/jira?${QUERY}&user_id=2`]) {
      expect(await source.verify({ ...deliver(), url })).toMatchObject({ ok: false })
    }
  })

  test('takes the path from the configuration, never from the request', async () => {
    const url = `/addon/other?${QUERY}`

    expect(await source.verify({ ...deliver(), url })).toMatchObject({ ok: true })
    expect(
      await source.verify({
        ...deliver({ token: { hashed: `POST&/addon/other&${CANONICAL_QUERY}` } }),
        url,
      }),
    ).toMatchObject({ ok: false })
  })

  test.each([
    ['three minutes old', { iat: seconds(-180), exp: seconds(0) }, true],
    ['older than that', { iat: seconds(-181), exp: seconds(600) }, false],
    ['past its end by far', { iat: seconds(0), exp: seconds(-181) }, false],
    ['without a time', { iat: undefined }, false],
  ])('judges a token %s', async (_, claims, ok) => {
    expect(await source.verify(deliver({ claims }))).toMatchObject({ ok })
  })

  test('escapes and sorts as Connect does', async () => {
    const url = "/?b=2&a=x%20y+z&b=1&jwt=left-out&c=!'()*~&%C3%A9="
    const hashed = 'POST&/addon/jira&a=x%20y%20z&b=1,2&c=%21%27%28%29%2A~&%C3%A9='

    expect(await source.verify({ ...deliver({ token: { hashed } }), url })).toMatchObject({
      ok: true,
    })
  })

  test('leaves out the path of the app’s base URL', async () => {
    const below = jira({
      secrets: [SECRET],
      publicUrl: PUBLIC_URL,
      baseUrl: 'https://app.example.com/addon',
    })
    const token = { hashed: `POST&/jira&${CANONICAL_QUERY}` }

    expect(await below.verify(deliver({ token }))).toMatchObject({ ok: true })
    expect(await below.verify(deliver())).toMatchObject({ ok: false })
  })

  test.each(['https://app.example.com/add', 'addon', 'https://other.example.com'])(
    'refuses %s for a base URL that publicUrl does not begin with',
    (baseUrl) => {
      expect(() => jira({ secrets: [SECRET], publicUrl: PUBLIC_URL, baseUrl })).toThrow('baseUrl')
    },
  )

  test('judges a signed body by its signature, whatever token stands beside it', async () => {
    const headers = { ...deliver().headers, 'x-hub-signature': `sha256=${'0'.repeat(64)}` }

    expect(await source.verify({ ...deliver(), headers })).toMatchObject({ ok: false })
  })
})

test('jira without a public URL takes no token', async () => {
  const source = jira({ secrets: [SECRET] })

  expect(await source.verify(deliver())).toEqual({ ok: false, reason: 'missing-header' })
})

test('jira keeps equal identifiers of two sites apart', () => {
  const source = jira({ secrets: [SECRET] })
  const scopes = ['https://a.atlassian.net', 'https://b.atlassian.net'].map((site) => {
    const body = { webhookEvent: 'x', user: {}, issue: { self: `${site}/rest/api/2/issue/1` } }
    return source.identify(sign('jira', { key: 'same', body }, { secret: SECRET }))[0]?.scope
  })

  expect(scopes).toEqual(['https://a.atlassian.net', 'https://b.atlassian.net'])
})

function seconds(after: number): number {
  return NOW.getTime() / 1000 + after
}

function deliver({
  token: { hashed = `POST&/addon/jira&${CANONICAL_QUERY}`, ...rest } = {},
  claims = {},
}: {
  token?: { hashed?: string; qsh?: string | undefined }
  claims?: object
} = {}): Delivery {
  const qsh = 'qsh' in rest ? rest.qsh : createHash('sha256').update(hashed).digest('hex')
  const payload = { iss: 'site', iat: seconds(0), exp: seconds(180), qsh, ...claims }
  const text = [{ typ: 'JWT', alg: 'HS256' }, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = createHmac('sha256', SECRET).update(text).digest('base64url')
  return {
    method: 'POST',
    // Behind a proxy the path may be another.
    url: `/in/jira?${QUERY}`,
    headers: { authorization: `JWT ${text}.${signature}` },
    body: Buffer.from('{"webhookEvent":"jira:issue_updated"}'),
    receivedAt: NOW,
  }
}
