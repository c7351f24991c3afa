/**
 * Certificates that a sender signs with.
 *
 * One from the configuration is believed as it is: the operator has decided. One that was
 * fetched from the sender's host must be valid at the time of the delivery, and from it a path of
 * signatures must lead to a root: one of the system's, or of those that were given.
 *
 * @module
 */

import { X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { isOfKind } from './public-key.ts'

export interface FetchedCertificate {
  readonly key: KeyObject
  readonly fromMs: number
  readonly untilMs: number
}

export interface CertificateRules {
  /** The name the leaf must be issued for. */
  readonly host?: RegExp
  /** PEM of the roots at which the path may end. Left out, those that Node trusts for TLS. */
  readonly roots?: readonly string[]
}

/** The leaf of a PEM chain, or `undefined` when it cannot be trusted. */
export function findCertificate(
  pem: string,
  { host, roots }: CertificateRules = {},
): FetchedCertificate | undefined {
  try {
    const chain = listCertificates(pem)
    const leaf = chain[0]
    if (leaf === undefined || !isOfKind(leaf.publicKey, 'rsa')) return undefined
    if (host !== undefined && !listNames(leaf).some((name) => host.test(name))) return undefined
    const { path, isTrusted } = walk(leaf, chain, rootsOf(roots))
    if (!isTrusted) return undefined
    return {
      key: leaf.publicKey,
      fromMs: Math.max(...path.map(({ validFrom }) => Date.parse(validFrom))),
      untilMs: Math.min(...path.map(({ validTo }) => Date.parse(validTo))),
    }
  } catch {
    return undefined
  }
}

/**
 * Where the certificate says that its missing issuer is; `undefined` when none is missing. Some senders
 * publish the leaf alone. Whatever is found there only counts if it has signed.
 */
export function findMissingIssuer(pem: string, roots?: readonly string[]): string | undefined {
  try {
    const chain = listCertificates(pem)
    const leaf = chain[0]
    if (leaf === undefined) return undefined
    const { path, isTrusted } = walk(leaf, chain, rootsOf(roots))
    const access = isTrusted ? '' : (path.at(-1)?.infoAccess ?? '')
    return /^CA Issuers - URI:(.+)$/m.exec(access)?.[1]
  } catch {
    return undefined
  }
}

/** A certificate in DER or PEM, as PEM. */
export function writePem(bytes: Uint8Array): string {
  return new X509Certificate(bytes).toString()
}

export function isValidAt({ fromMs, untilMs }: FetchedCertificate, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs <= untilMs
}

function listCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.slice(0, 8).map((block) => new X509Certificate(block))
}

let systemRoots: readonly X509Certificate[] | undefined

/** Those of the system are a hundred and more, so they are read once, and only where one is needed. */
function rootsOf(roots: readonly string[] | undefined): readonly X509Certificate[] {
  if (roots !== undefined) return roots.flatMap(listCertificates)
  systemRoots ??= rootCertificates.map((pem) => new X509Certificate(pem))
  return systemRoots
}

function listNames(leaf: X509Certificate): readonly string[] {
  const common = /^CN=(.+)$/m.exec(leaf.subject)?.[1]
  const others = (leaf.subjectAltName ?? '').split(', ').map((name) => name.replace(/^DNS:/, ''))
  return common === undefined ? others : [common, ...others]
}

/** From the leaf to the certificate that signed it, and on, until a root has signed or no signer is found. */
function walk(
  leaf: X509Certificate,
  chain: readonly X509Certificate[],
  roots: readonly X509Certificate[],
): { readonly path: readonly X509Certificate[]; readonly isTrusted: boolean } {
  const path = [leaf]
  for (;;) {
    const last = path.at(-1) as X509Certificate
    const root = roots.find(
      (one) => one.fingerprint256 === last.fingerprint256 || hasSigned(one, last),
    )
    if (root !== undefined) return { path: [...path, root], isTrusted: true }
    // Each once, so that two which have signed each other end here.
    const next = chain.find((one) => !path.includes(one) && hasSigned(one, last))
    if (next === undefined) return { path, isTrusted: false }
    path.push(next)
  }
}

function hasSigned(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && issuer.ca && certificate.verify(issuer.publicKey)
}
