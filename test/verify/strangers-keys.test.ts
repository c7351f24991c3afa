import { createHash, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import http from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { awsSns, paypal, plaid } from '../../src/providers/index.ts'
import type { TextFetcher } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { makeCertificate } from '../support/make-certificate.ts'

/**
 * Senders whose keys are fetched by the name that a request gives, each with a server that has the genuine
 * key and no other.
 */
describe.each(['aws_sns', 'paypal', 'plaid'] as const)(
  'R68: strangers who name keys of %s',
  (slug) => {
    test('cause few fetches, and leave the key that is known where it is', async () => {
      const keys = await startKeys(slug, 'has none')
      const { source, genuine, naming } = SUBJECTS[slug](keys.url)
      expect(await source.verify(genuine)).toMatchObject({ ok: true })

      for (let n = 0; n < 600; n += 1) {
        expect(await source.verify(naming(n))).toMatchObject({ ok: false })
      }

      expect(keys.asked.length).toBeLessThanOrEqual(30)
      expect(await source.verify(genuine)).toMatchObject({ ok: true })
      expect(keys.asked.filter((path) => path === GENUINE[slug])).toHaveLength(1)
    })

    test('do not keep a known key from being used while all their fetches hang', async () => {
      const keys = await startKeys(slug, 'hangs')
      const { source, genuine, naming } = SUBJECTS[slug](keys.url)
      expect(await source.verify(genuine)).toMatchObject({ ok: true })

      const hanging = Array.from({ length: 40 }, async (_, n) => source.verify(naming(n)))
      await expect.poll(() => keys.hanging.size).toBe(4)

      expect(await source.verify(genuine)).toMatchObject({ ok: true })
      expect(keys.asked).toHaveLength(5)
      for (const response of keys.hanging) response.destroy()
      await Promise.all(hanging)
    })
  },
)

test.each(['?', '#', '?1', '#1', '?a=b#c'])(
  'R68: a certificate has one name: its address with %j behind it is no other',
  async (tail) => {
    const keys = await startKeys('aws_sns', 'has none')
    const { source, genuine } = SUBJECTS.aws_sns(keys.url)
    expect(await source.verify(genuine)).toMatchObject({ ok: true })
    const body = JSON.parse(Buffer.from(genuine.body).toString()) as Record<string, string>
    const SigningCertURL = `${body['SigningCertURL'] ?? ''}${tail}`

    await source.verify({
      ...genuine,
      body: Buffer.from(JSON.stringify({ ...body, SigningCertURL })),
    })

    expect(keys.asked).toHaveLength(1)
  },
)

type Slug = 'aws_sns' | 'paypal' | 'plaid'

const GENUINE: Readonly<Record<Slug, string>> = {
  aws_sns: '/SimpleNotificationService-0123456789abcdef.pem',
  paypal: '/v1/notifications/certs/CERT-00000000-00000000-00000000',
  plaid: '/genuine',
}

/** Has the genuine key; for any other name it has none, or leaves the request open. */
async function startKeys(
  slug: Slug,
  others: 'has none' | 'hangs',
): Promise<{ url: string; asked: readonly string[]; hanging: ReadonlySet<ServerResponse> }> {
  const asked: string[] = []
  const hanging = new Set<ServerResponse>()
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? '')
    if (request.url === GENUINE[slug]) response.end(KEY_TEXTS[slug])
    else if (others === 'has none') response.writeHead(404).end()
    else hanging.add(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, asked, hanging }
}

interface StrangersSubject {
  readonly source: Source
  readonly genuine: Delivery
  /** A delivery as a stranger makes it, with another name every time. */
  readonly naming: (n: number) => Delivery
}

const AT = new Date()
const DAY_MS = 86_400_000
const VALID = { from: new Date(AT.getTime() - DAY_MS), until: new Date(AT.getTime() + DAY_MS) }
const RSA = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const ROOT = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const ROOT_PEM = makeCertificate({
  ...VALID,
  subject: 'root',
  publicKey: ROOT.publicKey,
  issuer: 'root',
  issuerKey: ROOT.privateKey,
  isAuthority: true,
})

function leafOf(subject: string): string {
  const issuer = { issuer: 'root', issuerKey: ROOT.privateKey }
  return makeCertificate({
    ...VALID,
    ...issuer,
    subject,
    publicKey: RSA.publicKey,
    names: [subject],
  })
}

const KEY_TEXTS: Readonly<Record<Slug, string>> = {
  aws_sns: leafOf('sns.amazonaws.com'),
  paypal: leafOf('messageverificationcerts.paypal.com'),
  plaid: JSON.stringify(EC.publicKey.export({ format: 'jwk' })),
}

/** Sends to the server what is meant for the provider's host. */
function fetchFrom(url: string): TextFetcher {
  return (address, init) => fetch(url + new URL(address).pathname, init)
}

const SUBJECTS: Readonly<Record<Slug, (url: string) => StrangersSubject>> = {
  aws_sns(url) {
    const genuine = sign('awsSns', { at: AT }, { privateKey: RSA.privateKey })
    const body = JSON.parse(Buffer.from(genuine.body).toString()) as object
    return {
      source: awsSns({ fetch: fetchFrom(url), certificateRoots: [ROOT_PEM] }),
      genuine,
      naming: (n) => {
        const SigningCertURL = `https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-${n}.pem`
        return { ...genuine, body: Buffer.from(JSON.stringify({ ...body, SigningCertURL })) }
      },
    }
  },

  paypal(url) {
    const webhookId = '1JE4291016473214C'
    const genuine = sign(
      'paypal',
      { at: AT },
      { privateKey: RSA.privateKey, options: { webhookId } },
    )
    const at = 'https://api.sandbox.paypal.com/v1/notifications/certs/CERT-'
    return {
      source: paypal({ webhookId, fetch: fetchFrom(url), certificateRoots: [ROOT_PEM] }),
      genuine,
      naming: (n) => ({
        ...genuine,
        headers: { ...genuine.headers, 'paypal-cert-url': `${at}${n}` },
      }),
    }
  },

  plaid(url) {
    const body = Buffer.from('{"webhook_type":"ITEM"}')
    const deliver = (kid: string): Delivery => ({
      method: 'POST',
      url: '/',
      headers: { 'plaid-verification': tokenOf(kid, body) },
      body,
      receivedAt: AT,
    })
    return {
      source: plaid({
        fetchKey: async (keyId, signal) => {
          const response = await fetch(`${url}/${keyId}`, { signal })
          return response.ok ? ((await response.json()) as object) : undefined
        },
      }),
      genuine: deliver('genuine'),
      naming: (n) => deliver(`stranger-${n}`),
    }
  },
}

function tokenOf(kid: string, body: Buffer): string {
  const text = [
    { alg: 'ES256', kid, typ: 'JWT' },
    {
      iat: Math.floor(AT.getTime() / 1_000),
      request_body_sha256: createHash('sha256').update(body).digest('hex'),
    },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const key = { key: EC.privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${signBytes('sha256', Buffer.from(text), key).toString('base64url')}`
}
