import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { parseAllowList } from './allow-list.ts'
import type { AllowList } from './allow-list.ts'
import type { ResolveAll } from './connection-check.ts'

/** What may leave, and how long it may take. */
export interface EgressOptions {
  /**
   * What may be reached although it is not public, and without TLS: host names, addresses and ranges
   * such as `10.0.0.0/8`. For local development and receivers in one's own network. A metadata service
   * is reached only by its address, never by a host's name.
   *
   * @defaultValue []
   */
  readonly allow?: readonly string[]
  /**
   * How long one request may take, from resolving the name to the last byte of the answer.
   *
   * @defaultValue 15_000
   */
  readonly requestTimeoutMs?: number
  /**
   * How long nothing may happen on the connection: no connection made, no byte of the answer read.
   *
   * @defaultValue 10_000
   */
  readonly idleTimeoutMs?: number
  /**
   * How much of an answer is read; the rest is not waited for.
   *
   * @defaultValue 65_536
   */
  readonly responseBytesMax?: number
  /** How names are resolved, in the shape of `dns.lookup` with `all`. Left out, as the system does. */
  readonly resolve?: ResolveAll
}

export const EGRESS_DEFAULTS = Object.freeze({
  allow: [] as readonly string[],
  requestTimeoutMs: 15_000,
  idleTimeoutMs: 10_000,
  responseBytesMax: 65_536,
})

export interface ResolvedEgressOptions {
  readonly allowed: AllowList
  readonly requestTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly responseBytesMax: number
  readonly resolve?: ResolveAll
}

/** `path` is what the options are called in errors. */
export function resolveEgressOptions(
  options: EgressOptions,
  path = 'egress',
): ResolvedEgressOptions {
  rejectUnknownKeys(path, options, [...Object.keys(EGRESS_DEFAULTS), 'resolve'])
  const { allow, ...others } = { ...EGRESS_DEFAULTS, ...options }
  requireInteger(`${path}.requestTimeoutMs`, others.requestTimeoutMs, {
    min: 1,
    max: 2_147_483_647,
  })
  requireInteger(`${path}.idleTimeoutMs`, others.idleTimeoutMs, { min: 1, max: 2_147_483_647 })
  requireInteger(`${path}.responseBytesMax`, others.responseBytesMax, { min: 0, max: 134_217_728 })
  if (others.resolve !== undefined && typeof others.resolve !== 'function') {
    throw new OptionInvalidError(`${path}.resolve`, 'a function like dns.lookup', others.resolve)
  }
  return Object.freeze({ ...others, allowed: parseAllowList(`${path}.allow`, allow) })
}
