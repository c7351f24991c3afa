/**
 * X.509 certificates for tests, written by hand in DER: node:crypto reads them and cannot make them, and
 * committed ones would one day be out of date.
 *
 * @module
 */

import { sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

export interface CertificateDraft {
  /** Its common name. */
  readonly subject: string
  readonly publicKey: KeyObject
  /** The name and the key of who signs it. */
  readonly issuer: string
  readonly issuerKey: KeyObject
  readonly from: Date
  readonly until: Date
  /** Whether it may sign others. */
  readonly isAuthority?: boolean
  /** DNS names beside the common name. */
  readonly names?: readonly string[]
  /** IPv4 addresses. */
  readonly addresses?: readonly string[]
  /** Where the certificate of who signed it is. */
  readonly issuerUrl?: string
}

/** The certificate as PEM. */
export function makeCertificate(draft: CertificateDraft): string {
  const signed = sequence(
    tagged(0xa0, integer(2)),
    integer(1),
    SHA256_WITH_RSA,
    nameOf(draft.issuer),
    sequence(time(draft.from), time(draft.until)),
    nameOf(draft.subject),
    draft.publicKey.export({ format: 'der', type: 'spki' }),
    tagged(0xa3, sequence(...listExtensions(draft))),
  )
  const signature = sign('sha256', signed, draft.issuerKey)
  const der = sequence(signed, SHA256_WITH_RSA, tagged(0x03, Buffer.from([0]), signature))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function listExtensions({
  isAuthority = false,
  names = [],
  addresses = [],
  issuerUrl,
}: CertificateDraft): readonly Buffer[] {
  const constraints = [extension('551d13', sequence(...(isAuthority ? [TRUE] : [])))]
  if (issuerUrl !== undefined) {
    const location = tagged(0x86, Buffer.from(issuerUrl, 'latin1'))
    const access = sequence(objectId('2b06010505073002'), location)
    constraints.push(extension('2b06010505070101', sequence(access)))
  }
  const alternatives = [
    ...names.map((name) => tagged(0x82, Buffer.from(name, 'latin1'))),
    ...addresses.map((address) => tagged(0x87, Buffer.from(address.split('.').map(Number)))),
  ]
  if (alternatives.length === 0) return constraints
  return [...constraints, extension('551d11', sequence(...alternatives))]
}

function extension(oid: string, value: Buffer): Buffer {
  return sequence(objectId(oid), TRUE, tagged(0x04, value))
}

function nameOf(common: string): Buffer {
  const text = tagged(0x0c, Buffer.from(common, 'utf8'))
  return sequence(tagged(0x31, sequence(objectId('550403'), text)))
}

/** `UTCTime`, which ends in 2049. */
function time(at: Date): Buffer {
  return tagged(0x17, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(2, 14)}Z`, 'latin1'))
}

function objectId(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

function integer(value: number): Buffer {
  return tagged(0x02, Buffer.from([value]))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts)
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const TRUE = tagged(0x01, Buffer.from([0xff]))
const SHA256_WITH_RSA = sequence(objectId('2a864886f70d01010b'), tagged(0x05))
