/**
 * Connections that only ever go to an address that was checked.
 *
 *     name ─▶ resolve, once ─▶ check every address ─▶ connect to one of them
 *     literal ───────────────▶ check it ────────────▶ connect to it
 *
 * The check is inside the connection's own look-up: code that checks a name and then connects by name asks
 * the resolver twice, and a resolver that means harm answers differently the second time. One answer
 * that is not public refuses all: which of them Node tries first is not ours to say. Node calls no
 * look-up for a literal address, so that one is checked apart.
 *
 * @module
 */

import { lookup as systemLookup } from 'node:dns'
import type { LookupAddress, LookupAllOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { DestinationBlockedError } from '../errors.ts'
import type { AllowList } from './allow-list.ts'
import { blockedError } from './blocked-error.ts'
import type { BlockReason } from './check-url.ts'
import { classifyAddress } from './classify-address.ts'
import { parseAddress } from './parse-address.ts'

/** Of the shape of `dns.lookup` with `all`. */
export type ResolveAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export interface CheckTerms {
  readonly allowed: AllowList
  /** How names are resolved. Left out, as the system does. */
  readonly resolve?: ResolveAll
}

/** What every connection is made through, whichever client makes it. */
export interface ConnectionCheck {
  /** To be asked before a connection is made. The error with which it is not. */
  readonly findRefusal: (target: ConnectionTarget) => DestinationBlockedError | undefined
  /** To be the connection's look-up. */
  readonly lookup: LookupFunction
}

export interface ConnectionTarget {
  readonly host?: string | null
  /** The path of a Unix socket; the path of the URL is not here. */
  readonly path?: string | null
  readonly socketPath?: string | null
}

export function createConnectionCheck(terms: CheckTerms): ConnectionCheck {
  return {
    findRefusal: (target) => {
      const reason = checkTarget(target, terms.allowed)
      return reason === undefined ? undefined : blockedError(target.host ?? '', reason)
    },
    lookup: checkLookup(terms),
  }
}

function checkTarget(target: ConnectionTarget, allowed: AllowList): BlockReason | undefined {
  if (isText(target.path) || isText(target.socketPath)) return 'socket'
  const host = target.host ?? ''
  // Node would take an empty host for this machine.
  if (host === '') return 'host'
  return parseAddress(host) === undefined ? undefined : checkAddress(host, allowed)
}

function isText(value: string | null | undefined): boolean {
  return typeof value === 'string' && value !== ''
}

/** `undefined` for an address that may be reached. */
function checkAddress(
  text: string,
  allowed: AllowList,
  isAllowedHost = false,
): BlockReason | undefined {
  const bytes = parseAddress(text)
  if (bytes === undefined) return 'malformed'
  if (allowed.hasAddress(bytes)) return undefined
  const kind = classifyAddress(bytes)
  if (kind === 'public' || (isAllowedHost && kind !== 'metadata')) return undefined
  return kind
}

/** A look-up for `net.connect` that gives only what was checked. */
function checkLookup({ allowed, resolve = systemLookup }: CheckTerms): LookupFunction {
  return (hostname, options, callback) => {
    const host = hostname.toLowerCase().replace(/\.$/, '')
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      // No answer is no permission: what cannot be checked is not connected to.
      if (error !== null) return callback(error, [])
      const reason = checkAnswers(addresses, allowed, allowed.hasHost(host))
      if (reason !== undefined) return callback(blockedError(host, reason), [])
      const [first] = addresses
      if (options.all === true) return callback(null, addresses)
      return callback(null, first?.address ?? '', first?.family)
    })
  }
}

function checkAnswers(
  addresses: readonly LookupAddress[],
  allowed: AllowList,
  isAllowedHost: boolean,
): BlockReason | undefined {
  if (addresses.length === 0) return 'unresolved'
  for (const { address } of addresses) {
    const reason = checkAddress(address, allowed, isAllowedHost)
    if (reason !== undefined) return reason
  }
  return undefined
}
