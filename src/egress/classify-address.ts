/**
 * What an address is for. Pure, and total: any bytes of an address in, a class out.
 *
 * An IPv6 address may carry an IPv4 address, and a gateway on the way then connects to that one. Such
 * an address is what it carries: `::ffff:169.254.169.254` is the metadata service, however it is written.
 *
 * @module
 */

import { IPV4_RANGES, IPV6_RANGES, isWithin, parseRange } from './address-ranges.ts'
import type { AddressClass } from './address-ranges.ts'
import type { AddressBytes } from './parse-address.ts'

export function classifyAddress(bytes: AddressBytes): AddressClass {
  if (bytes.length === 4) return find(IPV4_RANGES, bytes)
  const own = find(IPV6_RANGES, bytes)
  // `::` and `::1` are in the range of those that carry one, and are what they are.
  if (own === 'unspecified' || own === 'loopback') return own
  const carried = findCarried(bytes)
  if (carried === undefined) return own
  const inner = find(IPV4_RANGES, carried.address)
  if (inner !== 'public') return inner
  return carried.reaches === 'its-carrier' ? own : inner
}

function find(ranges: typeof IPV4_RANGES, bytes: AddressBytes): AddressClass {
  return ranges.find((range) => isWithin(bytes, range))?.class ?? 'reserved'
}

interface Carried {
  readonly address: AddressBytes
  /** Whether a connection ends at the address that is carried, or at what carries it. */
  readonly reaches: 'the-carried' | 'its-carrier'
}

const MAPPED = ranges('::ffff:0:0/96', '::ffff:0:0:0/96')
const NAT64 = ranges('64:ff9b::/96')
const COMPATIBLE = ranges('::/96')
const SIX_TO_FOUR = ranges('2002::/16')
const TEREDO = ranges('2001::/32')

function findCarried(bytes: AddressBytes): Carried | undefined {
  const last = bytes.slice(12)
  const among = (list: ReturnType<typeof ranges>) => list.some((range) => isWithin(bytes, range))
  // A mapped address never leaves the machine as such: the system connects to the one inside. NAT64 is
  // how a network without IPv4 reaches the public part of it.
  if (among(MAPPED) || among(NAT64)) return { address: last, reaches: 'the-carried' }
  if (among(COMPATIBLE)) return { address: last, reaches: 'its-carrier' }
  if (among(SIX_TO_FOUR)) return { address: bytes.slice(2, 6), reaches: 'its-carrier' }
  // Teredo writes the client's address with every bit turned over.
  if (among(TEREDO)) return { address: last.map((byte) => byte ^ 0xff), reaches: 'its-carrier' }
  if (isIsatap(bytes)) return { address: last, reaches: 'its-carrier' }
  return undefined
}

/** ISATAP is known by a pattern in the lower half, under any prefix (RFC 5214, section 6.1). */
function isIsatap(bytes: AddressBytes): boolean {
  const [first = 0, second, third, fourth] = bytes.slice(8, 12)
  return (first & 0xfd) === 0 && second === 0 && third === 0x5e && fourth === 0xfe
}

function ranges(...texts: readonly string[]): readonly { bytes: AddressBytes; bits: number }[] {
  return texts.flatMap((text) => parseRange(text) ?? [])
}
