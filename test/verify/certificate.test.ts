import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { awsSns } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { findCertificate, isValidAt } from '../../src/verify/certificate.ts'
import { makeCertificate } from '../support/make-certificate.ts'
import type { CertificateDraft } from '../support/make-certificate.ts'

const DAY_MS = 86_400_000
const NOW = new Date(1_760_000_000_000)
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS)
const pairOf = (modulusLength = 2048) => generateKeyPairSync('rsa', { modulusLength })

const root = pairOf()
const between = pairOf()
const own = pairOf()
const attacker = pairOf()
const NAME = 'sns.eu-central-1.amazonaws.com'

const ROOT = certificate({ subject: 'Root', publicKey: root.publicKey, isAuthority: true })
const BETWEEN = certificate({ subject: 'Between', publicKey: between.publicKey, isAuthority: true })
const LEAF = leaf({})
const CHAIN = LEAF + BETWEEN

/** Signed by the root, valid for a year around now. */
function certificate(
  draft: Partial<CertificateDraft> & Pick<CertificateDraft, 'subject' | 'publicKey'>,
): string {
  return makeCertificate({
    issuer: 'Root',
    issuerKey: root.privateKey,
    from: inDays(-180),
    until: inDays(180),
    ...draft,
  })
}

/** The sender's own, signed by the one between. */
function leaf(change: Partial<CertificateDraft>): string {
  return certificate({
    subject: NAME,
    publicKey: own.publicKey,
    issuer: 'Between',
    issuerKey: between.privateKey,
    ...change,
  })
}

const HOST = /^sns\.[a-z0-9-]+\.amazonaws\.com$/
const isTrusted = (pem: string, roots: readonly string[] = [ROOT]) =>
  findCertificate(pem, { host: HOST, roots }) !== undefined

describe('a certificate chain', () => {
  test('that ends at a root is trusted, whether the root is sent along or not', () => {
    expect(isTrusted(CHAIN)).toBe(true)
    expect(isTrusted(CHAIN + ROOT)).toBe(true)
    expect(isTrusted(leaf({ issuer: 'Root', issuerKey: root.privateKey }))).toBe(true)
  })

  test.each([
    ['a leaf without its issuer', LEAF],
    ['the issuer before the leaf', BETWEEN + LEAF],
    [
      'a self-signed certificate with the right name',
      leaf({ publicKey: attacker.publicKey, issuer: NAME, issuerKey: attacker.privateKey }),
    ],
    [
      'the same with the true chain behind it',
      leaf({ publicKey: attacker.publicKey, issuer: NAME, issuerKey: attacker.privateKey }) +
        BETWEEN +
        ROOT,
    ],
    [
      'the name of the issuer and the key of another',
      leaf({ issuerKey: attacker.privateKey }) + BETWEEN,
    ],
    ['another issuer than the one behind it', leaf({ issuer: 'Another' }) + BETWEEN],
    [
      'an authority of the same name as ours',
      leaf({ issuerKey: attacker.privateKey }) +
        certificate({
          subject: 'Between',
          publicKey: attacker.publicKey,
          isAuthority: true,
          issuer: 'Between',
          issuerKey: attacker.privateKey,
        }),
    ],
    [
      'an issuer that may not sign others',
      leaf({ issuer: 'Shop', issuerKey: attacker.privateKey }) +
        certificate({ subject: 'Shop', publicKey: attacker.publicKey }),
    ],
    ['nothing', ''],
    ['no certificate', 'not PEM'],
    ['a broken certificate', CHAIN.replace(/M/g, 'N')],
  ])('of %s is not', (_name, pem) => {
    expect(isTrusted(pem)).toBe(false)
  })

  test('that ends at a root of a stranger is not trusted', () => {
    const other = certificate({
      subject: 'Root',
      publicKey: attacker.publicKey,
      isAuthority: true,
      issuerKey: attacker.privateKey,
    })

    expect(isTrusted(CHAIN, [other])).toBe(false)
    expect(isTrusted(CHAIN, [])).toBe(false)
    expect(isTrusted(CHAIN, [other, ROOT])).toBe(true)
  })

  test('must be for the name, as common name or beside it, from end to end', () => {
    expect(isTrusted(leaf({ subject: 'example.com' }) + BETWEEN)).toBe(false)
    expect(isTrusted(leaf({ subject: `${NAME}.example.com` }) + BETWEEN)).toBe(false)
    expect(isTrusted(leaf({ subject: 'example.com', names: [NAME] }) + BETWEEN)).toBe(true)
  })

  test('with a key of 1024 bits is not trusted', () => {
    expect(isTrusted(leaf({ publicKey: pairOf(1024).publicKey }) + BETWEEN)).toBe(false)
  })

  test('counts from the latest beginning to the earliest end of its certificates', () => {
    const old = certificate({
      subject: 'Between',
      publicKey: between.publicKey,
      isAuthority: true,
      from: inDays(-10),
      until: inDays(10),
    })
    const found = findCertificate(leaf({ from: inDays(-5), until: inDays(20) }) + old, {
      roots: [ROOT],
    })
    if (found === undefined) throw new Error('not trusted')

    expect([-6, -5, 0, 10, 11].map((days) => isValidAt(found, inDays(days).getTime()))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ])
    expect(isValidAt(found, Number.NaN)).toBe(false)
  })
})

describe('a source that fetches the sender’s certificate', () => {
  const sourceOf = (pem: string | Error, roots: readonly string[] | 'of the system' = [ROOT]) => {
    const asked: [url: string, redirect: string][] = []
    const source = awsSns({
      topicArns: ['arn:aws:sns:eu-central-1:123456789012:example'],
      ...(roots !== 'of the system' && { certificateRoots: roots }),
      fetch: (url, { redirect }) => {
        asked.push([url, redirect])
        return typeof pem === 'string'
          ? Promise.resolve({ ok: true, text: () => Promise.resolve(pem) })
          : Promise.reject(pem)
      },
    })
    return { asked, verify: async (delivery: Delivery) => source.verify(delivery) }
  }
  const signed = (privateKey = own.privateKey, at = NOW) => sign('awsSns', { at }, { privateKey })
  const from = (url: string): Delivery => {
    const delivery = signed()
    const message = JSON.parse(Buffer.from(delivery.body).toString()) as object
    return { ...delivery, body: Buffer.from(JSON.stringify({ ...message, SigningCertURL: url })) }
  }
  const UNKNOWN = { ok: false, reason: 'unknown-key' }

  test('asks for it once, and follows no redirect', async () => {
    const { asked, verify } = sourceOf(CHAIN)

    expect(await verify(signed())).toMatchObject({ ok: true })
    expect(await verify(signed())).toMatchObject({ ok: true })
    expect(asked).toEqual([[expect.stringContaining(`https://${NAME}/`), 'error']])
  })

  test('refuses what the certificate’s key did not sign', async () => {
    expect(await sourceOf(CHAIN).verify(signed(attacker.privateKey))).toEqual({
      ok: false,
      reason: 'bad-signature',
    })
  })

  test.each([
    ['is over', inDays(-180), inDays(-1)],
    ['has not begun', inDays(1), inDays(180)],
  ])('refuses a certificate that %s', async (_name, begin, until) => {
    const pem = leaf({ from: begin, until }) + BETWEEN

    expect(await sourceOf(pem).verify(signed())).toEqual(UNKNOWN)
    expect(await sourceOf(pem, 'of the system').verify(signed())).toEqual(UNKNOWN)
  })

  test('refuses an attacker’s certificate with the right name, and what it signed', async () => {
    const pem = leaf({
      publicKey: attacker.publicKey,
      issuer: NAME,
      issuerKey: attacker.privateKey,
    })

    expect(await sourceOf(pem).verify(signed(attacker.privateKey))).toEqual(UNKNOWN)
    expect(await sourceOf(pem + BETWEEN).verify(signed(attacker.privateKey))).toEqual(UNKNOWN)
  })

  test('R52: believes no chain that ends at no root of the system, unless roots are given', async () => {
    const self = leaf({
      subject: 'sns.amazonaws.com',
      publicKey: attacker.publicKey,
      issuer: 'sns.amazonaws.com',
      issuerKey: attacker.privateKey,
    })

    expect(await sourceOf(self, 'of the system').verify(signed(attacker.privateKey))).toEqual(
      UNKNOWN,
    )
    expect(await sourceOf(CHAIN, 'of the system').verify(signed())).toEqual(UNKNOWN)
    expect(await sourceOf(CHAIN, [ROOT]).verify(signed())).toMatchObject({ ok: true })
  })

  test.each([
    'sns.amazonaws.com',
    'sns-signing.me-central-1.amazonaws.com',
    'sns-signing.eusc-de-east-1.amazonaws.eu',
    'sns-us-gov-west-1.amazonaws.com',
    'sns-cn-north-1.amazonaws.com.cn',
  ])('R52: knows SNS by the name %s', async (subject) => {
    expect(await sourceOf(leaf({ subject }) + BETWEEN).verify(signed())).toMatchObject({ ok: true })
  })

  test.each(['sns.s3-us-west-2.amazonaws.com', 'sns-evil.amazonaws.com', 'xsns.amazonaws.com'])(
    'R52: does not know SNS by the name %s',
    async (subject) => {
      expect(await sourceOf(leaf({ subject }) + BETWEEN).verify(signed())).toEqual(UNKNOWN)
    },
  )

  test('refuses a certificate for another name that begins alike', async () => {
    const pem = leaf({ subject: 'sns.example.com' }) + BETWEEN

    expect(await sourceOf(pem).verify(signed())).toEqual(UNKNOWN)
  })

  test.each([
    'https://sns.eu-central-1.amazonaws.com.example.com/SimpleNotificationService-0.pem',
    'https://example.com/SimpleNotificationService-0.pem',
    'https://sns.eu-central-1.amazonaws.com@example.com/SimpleNotificationService-0.pem',
    'https://sns.eu-central-1.amazonaws.com:8443/SimpleNotificationService-0.pem',
    'http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0.pem',
    'https://bucket.s3.amazonaws.com/SimpleNotificationService-0.pem',
    'https://sns.eu-central-1.amazonaws.com/other/SimpleNotificationService-0.pem',
    'https://sns.eu-central-1.amazonaws.com/?x=/SimpleNotificationService-0.pem',
    'file:///SimpleNotificationService-0.pem',
    '/SimpleNotificationService-0.pem',
  ])('never asks %s', async (url) => {
    const { asked, verify } = sourceOf(CHAIN)

    expect(await verify(from(url))).toEqual(UNKNOWN)
    expect(asked).toEqual([])
  })

  test('says that a certificate cannot be had now, and throws nothing', async () => {
    expect(await sourceOf(new Error('down')).verify(signed())).toEqual({
      ok: false,
      reason: 'key-unavailable',
    })
  })
})

describe('R52: a certificate whose issuer is not sent along', () => {
  // As SNS sends it: the leaf alone, which names the address of its issuer.
  const ISSUER_URL = 'http://crt.r2m01.amazontrust.com/r2m01.cer'
  const bare = leaf({ issuerUrl: ISSUER_URL })
  const signed = sign('awsSns', { at: NOW }, { privateKey: own.privateKey })

  /** What is found under each address. */
  const verify = async (
    found: Readonly<Record<string, string>>,
    roots: readonly string[] = [ROOT],
  ) => {
    const asked: string[] = []
    const source = awsSns({
      topicArns: ['arn:aws:sns:eu-central-1:123456789012:example'],
      certificateRoots: roots,
      fetch: (url) => {
        asked.push(url)
        const pem = found[url.replace(/.*SimpleNotification.*/, 'leaf')]
        if (pem === undefined) return Promise.reject(new Error('not there'))
        return Promise.resolve({
          ok: true,
          text: () => Promise.resolve(pem),
          arrayBuffer: () => Promise.resolve(new Uint8Array(new X509Certificate(pem).raw).buffer),
        })
      },
    })
    return { verdict: await source.verify(signed), asked: asked.slice(1) }
  }

  test('is believed once the issuer is fetched from where it says', async () => {
    expect(await verify({ leaf: bare, [ISSUER_URL]: BETWEEN })).toMatchObject({
      verdict: { ok: true },
      asked: [ISSUER_URL],
    })
  })

  test('is believed over two of them', async () => {
    const further = 'http://crt.rootca1.amazontrust.com/rootca1.cer'
    const deep = pairOf()
    const found = {
      leaf: leaf({ issuer: 'Deep', issuerKey: deep.privateKey, issuerUrl: ISSUER_URL }),
      [ISSUER_URL]: certificate({
        subject: 'Deep',
        publicKey: deep.publicKey,
        isAuthority: true,
        issuer: 'Between',
        issuerKey: between.privateKey,
        issuerUrl: further,
      }),
      [further]: BETWEEN,
    }

    expect(await verify(found)).toMatchObject({
      verdict: { ok: true },
      asked: [ISSUER_URL, further],
    })
  })

  test('is not believed for an issuer that did not sign it', async () => {
    const other = certificate({
      subject: 'Between',
      publicKey: attacker.publicKey,
      isAuthority: true,
    })

    expect((await verify({ leaf: bare, [ISSUER_URL]: other })).verdict).toEqual({
      ok: false,
      reason: 'unknown-key',
    })
  })

  test('waits while the issuer cannot be had', async () => {
    expect((await verify({ leaf: bare })).verdict).toEqual({ ok: false, reason: 'key-unavailable' })
  })

  test.each([
    'http://evil.example/r2m01.cer',
    'http://crt.r2m01.amazontrust.com.evil.example/r2m01.cer',
    'http://crt.r2m01.amazontrust.com:8080/r2m01.cer',
    'file:///r2m01.cer',
    'http://169.254.169.254/latest',
  ])('is never completed from %s', async (issuerUrl) => {
    const { verdict, asked } = await verify({ leaf: leaf({ issuerUrl }), [issuerUrl]: BETWEEN })

    expect(asked).toEqual([])
    expect(verdict).toEqual({ ok: false, reason: 'unknown-key' })
  })

  test('asks no host where the chain is whole', async () => {
    expect((await verify({ leaf: bare + BETWEEN })).asked).toEqual([])
  })
})
