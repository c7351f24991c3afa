/**
 * Whether a URL may be a destination, before anything is resolved. For when a destination is
 * configured; the addresses are checked again at every connection (`connection-check.ts`).
 *
 * @module
 */

import type { AddressClass } from './address-ranges.ts'
import type { AllowList } from './allow-list.ts'
import { classifyAddress } from './classify-address.ts'
import { parseAddress } from './parse-address.ts'

/** Why a destination is not reached. A class of address, or what is wrong with the URL. */
export type BlockReason =
  | Exclude<AddressClass, 'public'>
  | 'url'
  | 'scheme'
  | 'credentials'
  | 'host'
  | 'port'
  /** The name has no address. */
  | 'unresolved'
  /** A socket of this machine instead of a host. */
  | 'socket'

export type UrlCheck =
  { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly reason: BlockReason }

export function checkUrl(text: string, allowed: AllowList): UrlCheck {
  if (!URL.canParse(text)) return blocked('url')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return blocked('scheme')
  // They would be sent along, and be in every log that has the URL.
  if (url.username !== '' || url.password !== '') return blocked('credentials')

  const host = bareHost(url)
  const bytes = parseAddress(host)
  const isAllowed = bytes === undefined ? allowed.hasHost(host) : allowed.hasAddress(bytes)
  if (!isAllowed) {
    const kind = bytes === undefined ? checkName(host) : classifyAddress(bytes)
    if (kind !== 'public') return blocked(kind)
    // Without TLS a signed request can still be read by every machine on the way.
    if (url.protocol === 'http:') return blocked('scheme')
    if (BLOCKED_PORTS.has(Number(url.port === '' ? 443 : url.port))) return blocked('port')
  }
  return { ok: true, url }
}

/** The host without the brackets of IPv6 and without the dot at the end of an absolute name. */
export function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** Names that are local by agreement, whatever a resolver says of them. */
function checkName(host: string): 'public' | 'loopback' | 'host' {
  if (/(^|\.)localhost$/.test(host)) return 'loopback'
  // One label alone is looked up in the search domains of this machine.
  if (!host.includes('.') || host.includes('..')) return 'host'
  return LOCAL_SUFFIXES.test(host) ? 'host' : 'public'
}

/** RFC 6761, 6762, 8375, 9476, and what clouds and routers use. */
const LOCAL_SUFFIXES =
  /\.(local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|test|example|invalid|onion|alt)$/

function blocked(reason: BlockReason): UrlCheck {
  return { ok: false, reason }
}

/**
 * Ports of services that read lines of text and could take a request for commands: the list that
 * browsers refuse (the Fetch standard, "port blocking"), and databases and control planes that speak
 * something close to HTTP or lines.
 */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061,
  5432, 5984, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 9200, 9300, 10080,
  10250, 10255, 11211, 27017,
])
