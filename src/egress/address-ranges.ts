/**
 * What an address is for, as a table: the special-purpose registries of IANA for IPv4 and IPv6, and
 * the addresses at which clouds keep their credentials.
 *
 * @module
 */

import { parseAddress } from './parse-address.ts'
import type { AddressBytes } from './parse-address.ts'

/** Only `public` may be called. */
export type AddressClass =
  | 'public'
  | 'loopback'
  | 'private'
  | 'unique-local'
  | 'link-local'
  | 'carrier-nat'
  /** Where a cloud hands out credentials to every program that can reach it. */
  | 'metadata'
  | 'multicast'
  | 'broadcast'
  | 'documentation'
  | 'benchmark'
  | 'unspecified'
  /** Leads elsewhere through a tunnel, to an address that is not checked: 6to4, Teredo, a local NAT64. */
  | 'tunnel'
  | 'reserved'
  /** No address, or one in a notation that programs read differently. */
  | 'malformed'

export interface AddressRange {
  readonly bytes: AddressBytes
  readonly bits: number
  readonly class: AddressClass
}

/** The first that matches decides, so a part of a range stands before the whole. */
export const IPV4_RANGES: readonly AddressRange[] = [
  // AWS, Azure, Google, DigitalOcean and others; tasks of ECS; pods of EKS.
  range('169.254.169.254/32', 'metadata'),
  range('169.254.170.2/32', 'metadata'),
  range('169.254.170.23/32', 'metadata'),
  // Azure's "wire server", in the middle of public addresses.
  range('168.63.129.16/32', 'metadata'),
  range('100.100.100.200/32', 'metadata'), // Alibaba
  range('192.0.0.192/32', 'metadata'), // Oracle
  range('0.0.0.0/32', 'unspecified'),
  range('0.0.0.0/8', 'reserved'),
  range('10.0.0.0/8', 'private'),
  range('100.64.0.0/10', 'carrier-nat'),
  range('127.0.0.0/8', 'loopback'),
  range('169.254.0.0/16', 'link-local'),
  range('172.16.0.0/12', 'private'),
  range('192.0.0.0/24', 'reserved'),
  range('192.0.2.0/24', 'documentation'),
  range('192.31.196.0/24', 'reserved'), // AS112
  range('192.52.193.0/24', 'reserved'), // AMT
  range('192.88.99.0/24', 'tunnel'), // the anycast relay of 6to4
  range('192.168.0.0/16', 'private'),
  range('192.175.48.0/24', 'reserved'), // AS112
  range('198.18.0.0/15', 'benchmark'),
  range('198.51.100.0/24', 'documentation'),
  range('203.0.113.0/24', 'documentation'),
  range('224.0.0.0/4', 'multicast'),
  range('255.255.255.255/32', 'broadcast'),
  range('240.0.0.0/4', 'reserved'),
  range('0.0.0.0/0', 'public'),
]

/** Those that carry an IPv4 address are in `classify-address.ts`, before these. */
export const IPV6_RANGES: readonly AddressRange[] = [
  range('fd00:ec2::254/128', 'metadata'), // AWS
  range('fd00:ec2::23/128', 'metadata'), // pods of EKS
  range('fd20:ce::254/128', 'metadata'), // Google
  range('fd00:c1::a9fe:a9fe/128', 'metadata'), // Oracle
  range('::/128', 'unspecified'),
  range('::1/128', 'loopback'),
  range('64:ff9b:1::/48', 'tunnel'), // NAT64 of the local network, to whatever that is
  range('2001::/32', 'tunnel'), // Teredo
  range('2001:2::/48', 'benchmark'),
  range('2001::/23', 'reserved'),
  range('2001:db8::/32', 'documentation'),
  range('2002::/16', 'tunnel'), // 6to4
  range('2620:4f:8000::/48', 'reserved'), // AS112
  range('3fff::/20', 'documentation'),
  range('2000::/3', 'public'),
  range('fc00::/7', 'unique-local'),
  range('fe80::/10', 'link-local'),
  range('fec0::/10', 'private'), // site-local, as it was called
  range('ff00::/8', 'multicast'),
  range('::/0', 'reserved'),
]

/** Whether two addresses, or an address and a range, agree in their first bits. */
export function isWithin(bytes: AddressBytes, range: Omit<AddressRange, 'class'>): boolean {
  if (bytes.length !== range.bytes.length) return false
  return range.bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, range.bits - index * 8))
    const mask = (0xff << (8 - bits)) & 0xff
    return ((bytes[index] as number) & mask) === (byte & mask)
  })
}

/** `10.0.0.0/8`, or a single address; `undefined` for anything else. */
export function parseRange(text: string): Omit<AddressRange, 'class'> | undefined {
  const [address = '', length, ...others] = text.split('/')
  const bytes = parseAddress(address)
  if (bytes === undefined || others.length > 0) return undefined
  if (length === undefined) return { bytes, bits: bytes.length * 8 }
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  return bits <= bytes.length * 8 ? { bytes, bits } : undefined
}

function range(text: string, kind: AddressClass): AddressRange {
  const parsed = parseRange(text)
  if (parsed === undefined) throw new Error(`${text} is no range`)
  return { ...parsed, class: kind }
}
