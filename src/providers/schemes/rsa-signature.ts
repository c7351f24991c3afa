/**
 * RSA (PKCS#1 v1.5) with the sender's certificate: from the configuration, or fetched from the address
 * that the delivery names, if that address is on the host that the declaration pins.
 *
 * @module
 */

import type { KeyObject } from 'node:crypto'
import type { Delivery } from '../../model/delivery.ts'
import type { SourceOptions, Verdict, VerdictReason } from '../../model/source.ts'
import {
  findCertificate,
  findMissingIssuer,
  isValidAt,
  writePem,
} from '../../verify/certificate.ts'
import type { FetchedCertificate } from '../../verify/certificate.ts'
import { decodeBounded } from '../../verify/decode.ts'
import { fetchOverTls } from '../../verify/fetch-over-tls.ts'
import { fetchBytes, fetchText, isPinnedUrl } from '../../verify/fetch-text.ts'
import type { TextFetcher } from '../../verify/fetch-text.ts'
import { compileLocator, UnverifiedReading } from '../../body/json-path.ts'
import type { Reading } from '../../body/json-path.ts'
import { KeyCache } from '../../verify/key-cache.ts'
import { isSignedBy, requirePublicKeys } from '../../verify/public-key.ts'
import { joinParts } from '../../verify/signed-template.ts'
import { findTimestampMs } from '../../verify/timestamp.ts'
import { judgeTime } from '../../verify/verify-delivery.ts'
import type { Scheme } from '../../verify/verify-delivery.ts'
import { compileScheme, listSpecHeaders, signsBody } from './signature-spec.ts'
import type { SignatureSpec } from './signature-spec.ts'
import type { BuildContext, BuiltVerification, Verification } from './verification.ts'

/** How a provider signs with RSA, and where its certificate may come from. */
export interface RsaSpec extends SignatureSpec {
  /** `undefined` for a delivery that names no digest the sender uses. */
  readonly digest: 'sha256' | ((reading: Reading) => 'sha1' | 'sha256' | undefined)
  readonly certificate: {
    /** Where the delivery says the certificate is. */
    readonly url: string
    /** The hosts it may be on. Matched from end to end. */
    readonly host: RegExp
    /** The path it must have. */
    readonly path?: RegExp
    /** The name it must be issued for. */
    readonly subject?: RegExp
    /** The hosts where the certificates of its issuers are, for senders that leave those out. */
    readonly issuers?: RegExp
  }
}

/** For providers that sign with a certificate. */
export interface CertificateOptions extends SourceOptions {
  /**
   * The certificate as PEM, or several. Believed as it is, and nothing is ever fetched then.
   *
   * @defaultValue fetched over TLS from the provider's host, checked for its dates and its chain, and kept for a day
   */
  readonly certificate?: string | readonly string[]
  /**
   * PEM of the roots at which a fetched certificate's chain must end, to pin them.
   *
   * @defaultValue the roots that Node trusts for TLS (`tls.rootCertificates`)
   */
  readonly certificateRoots?: readonly string[]
  /**
   * What fetches the certificate.
   *
   * @defaultValue a GET over TLS that checks the host's certificate, whatever the environment says
   */
  readonly fetch?: TextFetcher
  /**
   * How old the signed timestamp may be, where the provider signs one.
   *
   * @defaultValue the provider's, see its page
   */
  readonly toleranceSeconds?: number
}

const CERTIFICATE_OPTION_NAMES = [
  'certificate',
  'certificateRoots',
  'fetch',
  'toleranceSeconds',
] as const

/** RSA (PKCS#1 v1.5), checked with the provider's certificate. */
export function rsaSignature(spec: RsaSpec): Verification {
  return {
    kind: 'rsa',
    spec,
    summary: `RSA (PKCS#1 v1.5) in ${spec.encoding}, with the provider’s certificate`,
    ...listSpecHeaders(spec),
    headers: [
      ...listSpecHeaders(spec).headers,
      ...[compileLocator('certificate', spec.certificate.url).header ?? []].flat(),
    ],
    signsBody: signsBody(spec),
    optionNames: CERTIFICATE_OPTION_NAMES,
    ...(spec.timestamp && { toleranceSeconds: spec.timestamp.toleranceSeconds }),
    build: (context) => build(spec, context),
  }
}

type FindKey = (reading: Reading, nowMs: number) => Promise<FoundKeys | VerdictReason>

interface FoundKeys {
  readonly keys: readonly KeyObject[]
  /** Called when a signature held under one of them. */
  readonly prove: () => void
}

function build(spec: RsaSpec, context: BuildContext): BuiltVerification {
  const scheme = compileScheme(spec, context)
  const findKeys = keyFinder(spec, context)
  return {
    secrets: [],
    warnings: [],
    verify: (delivery) => verifyRsa(spec, scheme, findKeys, delivery),
  }
}

async function verifyRsa(
  spec: RsaSpec,
  scheme: Scheme,
  findKeys: FindKey,
  delivery: Delivery,
): Promise<Verdict> {
  const reading = new UnverifiedReading(delivery)
  const claim = scheme.readClaim(delivery)
  if (typeof claim === 'string') return refuse(claim)
  const nowMs = delivery.receivedAt.getTime()
  const sentMs = scheme.timestamp && findTimestampMs(claim.timestamp ?? '', scheme.timestamp.format)
  if (scheme.timestamp !== undefined && sentMs === undefined) return refuse('malformed-timestamp')
  const digest = typeof spec.digest === 'string' ? spec.digest : spec.digest(reading)
  const signature = decodeBounded(claim.signatures[0] ?? '', spec.encoding, 1024)
  if (digest === undefined || signature === undefined) return refuse('bad-signature')
  const parts = scheme.signed.render(delivery, claim.timestamp ?? '')
  if (typeof parts === 'string') return refuse(parts)

  const found = await findKeys(reading, nowMs)
  if (typeof found === 'string') return refuse(found)
  const { keys, prove } = found
  const bytes = joinParts(parts)
  const index = keys.findIndex((key) => isSignedBy(key, { digest, form: 'rsa' }, bytes, signature))
  if (index === -1) return refuse('bad-signature')
  prove()
  return judgeTime(`certificate-${index + 1}`, scheme.timestamp, sentMs, nowMs)
}

function keyFinder(spec: RsaSpec, { provider, options }: BuildContext): FindKey {
  const given = options['certificate']
  if (given !== undefined) {
    const keys = requirePublicKeys(`${provider}.certificate`, given, 'rsa').map(({ key }) => key)
    return () => Promise.resolve({ keys, prove: () => undefined })
  }
  const url = compileLocator('certificate', spec.certificate.url)
  const fetcher = (options['fetch'] as TextFetcher | undefined) ?? fetchOverTls
  // Authorities publish over plain HTTP. What comes from there only counts if it has signed.
  const issuerFetcher = fetcher
  const roots = options['certificateRoots'] as readonly string[] | undefined
  const cache = new KeyCache<FetchedCertificate>({
    keptMs: 86_400_000,
    fetchKey: (name, signal) =>
      fetchCertificate(spec, { fetcher, issuerFetcher, roots, signal }, name),
  })
  return async (reading, nowMs) => {
    const name = findPinned(spec, url.find(reading))
    if (name === undefined) return 'unknown-key'
    const found = await cache.find(name)
    if (typeof found === 'string') return found
    if (!isValidAt(found, nowMs)) return 'unknown-key'
    return { keys: [found.key], prove: () => cache.prove(name) }
  }
}

/** A leaf, one between it and its root, and one more for those that were signed across. */
const ISSUERS_MAX = 3

/** The certificate with its issuers, or `undefined` when it cannot be trusted. */
async function fetchCertificate(
  { certificate }: RsaSpec,
  { fetcher, issuerFetcher, roots, signal }: FetchContext,
  address: string,
): Promise<FetchedCertificate | undefined> {
  let pem = await fetchText(fetcher, address, signal)
  for (let fetched = 0; fetched < ISSUERS_MAX; fetched++) {
    const issuer = findMissingIssuer(pem, roots)
    const isAllowed =
      issuer !== undefined &&
      certificate.issuers !== undefined &&
      isPinnedUrl(issuer, certificate.issuers, ['http:', 'https:'])
    if (!isAllowed) break
    pem += writePem(await fetchBytes(issuerFetcher, issuer, signal))
  }
  return findCertificate(pem, {
    ...(certificate.subject && { host: certificate.subject }),
    ...(roots && { roots }),
  })
}

interface FetchContext {
  readonly fetcher: TextFetcher
  readonly issuerFetcher: TextFetcher
  readonly roots: readonly string[] | undefined
  readonly signal: AbortSignal
}

/**
 * The one spelling of the certificate's address, where it is one of the provider's. With a query that
 * is not read, strangers would have as many names for a certificate as they like.
 */
function findPinned({ certificate }: RsaSpec, address: string | undefined): string | undefined {
  if (address === undefined || !isPinnedUrl(address, certificate.host)) return undefined
  const { origin, pathname, search, hash } = new URL(address)
  const isPlain = search === '' && hash === '' && (certificate.path?.test(pathname) ?? true)
  return isPlain ? origin + pathname : undefined
}

function refuse(reason: VerdictReason): Verdict {
  return { ok: false, reason }
}
