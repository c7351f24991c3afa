import { generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import type { Source } from '../../../src/model/source.ts'
import { microsoftGraph } from '../../../src/providers/index.ts'
import type { TextFetcher } from '../../../src/providers/index.ts'

const NOW = 1_760_000_000_000
const KEYS = 'https://login.microsoftonline.com/common/discovery/v2.0/keys'
const APP = '925bff9f-f6e2-4a69-b858-f71ea2b9b6d0'
const TENANT = '9f4ebab6-520d-49c0-85cc-7b25c78d4a93'
const OTHER = '84bd8158-6d4d-4958-8b9f-9d6445542f95'
const PUBLISHER = '0bf30f3b-4a52-48df-9a82-234910c4a086'
const entra = generateKeyPairSync('rsa', { modulusLength: 2048 })
const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 })

const basic = { subscriptionId: 's', changeType: 'created', resource: 'r', tenantId: TENANT }
const ours = { ...basic, clientState: 'the state of ours' }
const rich = { ...ours, encryptedContent: { data: 'AA==', dataKey: 'AA==', dataSignature: 'x' } }

const CLAIMS = {
  aud: APP,
  iss: `https://login.microsoftonline.com/${TENANT}/v2.0`,
  iat: NOW / 1000 - 60,
  nbf: NOW / 1000 - 60,
  exp: NOW / 1000 + 86_400,
  azp: PUBLISHER,
  tid: TENANT,
  ver: '2.0',
}
const V1 = {
  ...CLAIMS,
  ver: '1.0',
  azp: undefined,
  appid: PUBLISHER,
  iss: `https://sts.windows.net/${TENANT}/`,
}

function tokenOf(claims: object = CLAIMS, { privateKey } = entra, head: object = {}): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${encode({ alg: 'RS256', kid: 'k1', ...head })}.${encode(claims)}`
  return `${text}.${signBytes('sha256', Buffer.from(text), privateKey).toString('base64url')}`
}

function deliver(body: object, ms = 0): Delivery {
  const receivedAt = new Date(NOW + ms)
  return {
    method: 'POST',
    url: '/',
    headers: {},
    body: Buffer.from(JSON.stringify(body)),
    receivedAt,
  }
}

/** A source, and what it asked for. Without an answer the host is down. */
function sourceOf(options: object = { appIds: [APP] }, isDown = false) {
  const asked: string[] = []
  const fetch: TextFetcher = (url) => {
    asked.push(url)
    const jwk = { ...entra.publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig' }
    if (isDown) return Promise.reject(new Error('down'))
    return Promise.resolve({
      ok: true,
      text: () => Promise.resolve(JSON.stringify({ keys: [jwk] })),
    })
  }
  const source = microsoftGraph({
    secrets: ['the state of ours', 'another of ours'],
    fetch,
    ...options,
  })
  return { asked, source }
}

async function reasonOf(source: Source, body: object): Promise<string> {
  const verdict = await source.verify(deliver(body))
  return verdict.ok ? 'ok' : verdict.reason
}

describe('the clientState of Microsoft Graph', () => {
  const { asked, source } = sourceOf({})

  test.each<[string, object, string]>([
    ['all of ours', { value: [ours, { ...ours, clientState: 'another of ours' }] }, 'ok'],
    [
      'one of theirs behind ours',
      { value: [ours, { ...ours, clientState: 'theirs' }] },
      'bad-token',
    ],
    ['none behind ours', { value: [ours, basic] }, 'bad-token'],
    ['a list', { value: [{ ...ours, clientState: ['the state of ours'] }] }, 'bad-token'],
    ['an element that is none', { value: [ours, null] }, 'bad-token'],
    ['no notification at all', { value: [] }, 'malformed-body'],
    ['no list', { value: ours }, 'malformed-body'],
    ['no tokens, said so', { value: [ours], validationTokens: null }, 'ok'],
  ])('with %s', async (_name, body, expected) => {
    expect(await reasonOf(source, body)).toBe(expected)
    expect(asked).toEqual([])
  })
})

describe('the validation tokens of Microsoft Graph', () => {
  const body = (...tokens: readonly unknown[]) => ({ value: [rich], validationTokens: tokens })

  test('are believed with a key from Entra ID’s own address, which is asked once', async () => {
    const { asked, source } = sourceOf()

    expect(await reasonOf(source, body(tokenOf()))).toBe('ok')
    expect(await reasonOf(source, body(tokenOf(V1)))).toBe('ok')
    expect(asked).toEqual([KEYS])
  })

  test.each<[string, object, string]>([
    ['missing', { value: [rich] }, 'bad-token'],
    ['null', { value: [rich], validationTokens: null }, 'bad-token'],
    ['no list', { value: [rich], validationTokens: tokenOf() }, 'malformed-body'],
    ['no text', body(1), 'malformed-body'],
    ['no token', body('a.b.c'), 'malformed-body'],
    ['too many', body(...Array<string>(65).fill(tokenOf())), 'malformed-body'],
    ['of an attacker’s key', body(tokenOf(CLAIMS, attacker)), 'bad-signature'],
    ['of a key unknown', body(tokenOf(CLAIMS, entra, { kid: 'k2' })), 'unknown-key'],
    ['of no algorithm', body(tokenOf(CLAIMS, entra, { alg: 'none' })), 'bad-signature'],
    ['one good and one bad', body(tokenOf(), tokenOf(CLAIMS, attacker)), 'bad-signature'],
    [
      'bad, of a notification that needs none',
      { value: [ours], validationTokens: ['x'] },
      'malformed-body',
    ],
    ['for another app', body(tokenOf({ ...CLAIMS, aud: OTHER })), 'bad-token'],
    ['for several apps', body(tokenOf({ ...CLAIMS, aud: [APP] })), 'bad-token'],
    ['of another caller', body(tokenOf({ ...CLAIMS, azp: OTHER })), 'bad-token'],
    [
      'with the caller of the other version',
      body(tokenOf({ ...V1, azp: PUBLISHER, appid: OTHER })),
      'bad-token',
    ],
    ['of no version', body(tokenOf({ ...CLAIMS, ver: undefined })), 'bad-token'],
    [
      'of another issuer',
      body(tokenOf({ ...CLAIMS, iss: 'https://evil.example/v2.0' })),
      'bad-token',
    ],
    ['of another tenant’s issuer', body(tokenOf({ ...CLAIMS, tid: OTHER })), 'bad-token'],
    ['that are over', body(tokenOf({ ...CLAIMS, exp: NOW / 1000 - 301 })), 'stale'],
    ['that have not begun', body(tokenOf({ ...CLAIMS, nbf: NOW / 1000 + 301 })), 'stale'],
    ['that never end', body(tokenOf({ ...CLAIMS, exp: undefined })), 'stale'],
    [
      'of one tenant, for notifications of two',
      { value: [rich, { ...rich, tenantId: OTHER }], validationTokens: [tokenOf()] },
      'bad-token',
    ],
    [
      'good, beside a clientState of theirs',
      { value: [{ ...rich, clientState: 'theirs' }], validationTokens: [tokenOf()] },
      'bad-token',
    ],
  ])('are refused: %s', async (_name, delivered, expected) => {
    expect(await reasonOf(sourceOf().source, delivered)).toBe(expected)
  })

  test('are refused without the ids of our apps, and asked about nowhere', async () => {
    const { asked, source } = sourceOf({})

    expect(await reasonOf(source, body(tokenOf()))).toBe('unknown-key')
    expect(asked).toEqual([])
  })

  test('may be of the tenants that are named only', async () => {
    const named = (...tenantIds: readonly string[]) => sourceOf({ appIds: [APP], tenantIds }).source

    expect(await reasonOf(named(OTHER, TENANT), body(tokenOf()))).toBe('ok')
    expect(await reasonOf(named(OTHER), body(tokenOf()))).toBe('bad-token')
  })

  test('that cannot be checked now are answered as unavailable, so that they come again', async () => {
    expect(await reasonOf(sourceOf({ appIds: [APP] }, true).source, body(tokenOf()))).toBe(
      'key-unavailable',
    )
  })
})

describe('the key of a notification of Microsoft Graph', () => {
  const { source } = sourceOf({})
  const keyOf = (notification: object, ms = 0) =>
    source.identify(deliver({ value: [notification] }, ms))[0]?.key

  test.each([
    ['an id', { ...basic, id: 'a' }, { ...basic, id: 'b' }],
    [
      'an etag',
      { ...basic, resourceData: { '@odata.etag': 'W/"1"' } },
      { ...basic, resourceData: { '@odata.etag': 'W/"2"' } },
    ],
    [
      'encrypted content',
      { ...basic, encryptedContent: { dataSignature: 'a' } },
      { ...basic, encryptedContent: { dataSignature: 'b' } },
    ],
    [
      'an id, in another subscription',
      { ...basic, id: 'a' },
      { ...basic, id: 'a', subscriptionId: 't' },
    ],
  ])('with %s is the same whenever it comes, and another’s is another', (_name, one, other) => {
    expect(keyOf(one, 60_000)).toBe(keyOf(one))
    expect(keyOf(other)).not.toBe(keyOf(one))
  })

  test.each([
    ['presence', { ...basic, changeType: 'updated', resourceData: { id: 'u' } }],
    [
      'lifecycle',
      { subscriptionId: 's', tenantId: TENANT, lifecycleEvent: 'reauthorizationRequired' },
    ],
  ])('of %s, which has neither, is new for every arrival', (_name, notification) => {
    expect(keyOf(notification)).toBe(keyOf(notification))
    expect(keyOf(notification, 1)).not.toBe(keyOf(notification))
  })

  test('goes with the type of the change or of the lifecycle', () => {
    const types = source
      .identify(
        deliver({ value: [ours, { ...ours, changeType: undefined, lifecycleEvent: 'missed' }] }),
      )
      .map(({ type }) => type)

    expect(types).toEqual(['created', 'missed'])
    expect(source.success).toEqual({ status: 202, body: 'json' })
  })
})
