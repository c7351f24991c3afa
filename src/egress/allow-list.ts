import { OptionInvalidError } from '../errors.ts'
import { isWithin, parseRange } from './address-ranges.ts'
import type { AddressBytes } from './parse-address.ts'

/**
 * What may be reached although it is not public, each asked for by name: a host (`localhost`,
 * `app.internal`), an address, or a range (`10.1.0.0/16`). For local development, and for receivers in
 * one's own network.
 */
export interface AllowList {
  /** Whether the host of a URL is in it, as a name. Its addresses may then be any but a metadata service. */
  hasHost(hostname: string): boolean
  hasAddress(bytes: AddressBytes): boolean
}

export function parseAllowList(option: string, entries: readonly string[]): AllowList {
  if (!Array.isArray(entries)) {
    throw new OptionInvalidError(option, 'a list of hosts, addresses and ranges', entries)
  }
  const hosts = new Set<string>()
  const ranges: { bytes: AddressBytes; bits: number }[] = []
  for (const [index, entry] of entries.entries()) {
    const text = typeof entry === 'string' ? entry : ''
    const range = parseRange(text)
    if (range !== undefined) ranges.push(range)
    else hosts.add(requireHost(`${option}.${index}`, text))
  }
  return {
    hasHost: (hostname) => hosts.has(hostname),
    hasAddress: (bytes) => ranges.some((range) => isWithin(bytes, range)),
  }
}

/** As a URL would write it, so that both are compared in one notation. */
function requireHost(option: string, text: string): string {
  const isName = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(text)
  const url = isName && URL.canParse(`https://${text}/`) ? new URL(`https://${text}/`) : undefined
  // A number that a URL reads as an address is a slip: an address is written as one.
  if (url?.hostname === text.toLowerCase()) return url.hostname
  throw new OptionInvalidError(
    option,
    'a host name, an address, or a range such as 10.0.0.0/8',
    text,
  )
}
