/**
 * Certificates that a sender signs with.
 *
 * One from the configuration is believed as it is: whoever configured it has decided. One that was
 * fetched from the sender's host must be valid at the time of the delivery, and, where roots are
 * given, each of its chain must have signed the one before it up to one of them.
 *
 * @module
 */

import { X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isOfKind } from './public-key.ts'

export interface FetchedCertificate {
  readonly key: KeyObject
  readonly fromMs: number
  readonly untilMs: number
}

export interface CertificateRules {
  /** The name the leaf must be issued for. */
  readonly host?: RegExp
  /** PEM of the roots that may stand at the end of the chain. */
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
    if (roots !== undefined && !endsAtRoot(chain, roots.flatMap(listCertificates))) return undefined
    return {
      key: leaf.publicKey,
      fromMs: Math.max(...chain.map(({ validFrom }) => Date.parse(validFrom))),
      untilMs: Math.min(...chain.map(({ validTo }) => Date.parse(validTo))),
    }
  } catch {
    return undefined
  }
}

export function isValidAt({ fromMs, untilMs }: FetchedCertificate, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs <= untilMs
}

function listCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.slice(0, 8).map((block) => new X509Certificate(block))
}

function listNames(leaf: X509Certificate): readonly string[] {
  const common = /^CN=(.+)$/m.exec(leaf.subject)?.[1]
  const others = (leaf.subjectAltName ?? '').split(', ').map((name) => name.replace(/^DNS:/, ''))
  return common === undefined ? others : [common, ...others]
}

function endsAtRoot(chain: readonly X509Certificate[], roots: readonly X509Certificate[]): boolean {
  return chain.every((certificate, index) => {
    const issuers = chain[index + 1] === undefined ? roots : [chain[index + 1] as X509Certificate]
    return issuers.some(
      (issuer) =>
        issuer.fingerprint256 === certificate.fingerprint256 ||
        (certificate.checkIssued(issuer) && issuer.ca && certificate.verify(issuer.publicKey)),
    )
  })
}
