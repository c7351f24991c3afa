/**
 * What every scheme that signs bytes has to say: where the signature is, where the time, and what was
 * signed.
 *
 * @module
 */

import type { Delivery } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import type { SignatureEncoding } from '../../verify/decode.ts'
import { compileLocator, UnverifiedReading } from '../../body/json-path.ts'
import type { Reading } from '../../body/json-path.ts'
import { compileTemplate } from '../../verify/signed-template.ts'
import type { SignedPart } from '../../verify/signed-template.ts'
import type { TimestampFormat, TimestampRule } from '../../verify/timestamp.ts'
import type { Claim, Scheme } from '../../verify/verify-delivery.ts'
import { requirePublicUrl } from './public-url.ts'
import type { BuildContext } from './verification.ts'

/** Where a signature is, where its time, and what was signed. */
export interface SignatureSpec {
  /** Where the signature is (`header:x-signature`, `json:$.signature`); of several, all that are there count. */
  readonly signature: string | readonly string[]
  /**
   * What stands before a signature. What has none of these is no signature.
   *
   * @defaultValue ''
   */
  readonly prefix?: string | readonly string[]
  /** For a value that holds several entries, such as `t=1,v1=a,v1=b`. */
  readonly list?: SignatureList
  readonly encoding: SignatureEncoding
  readonly timestamp?: TimestampSpec
  /** A template (see `verify/signed-template.ts`), or code where the sender signs something else. */
  readonly signed: string | SignedBy
  /** Headers that `signed` reads, where it is code. */
  readonly signedHeaders?: readonly string[]
}

/** How a value with several entries is taken apart. */
export interface SignatureList {
  readonly separator: ',' | ';' | ' '
  /** What stands before the timestamp among the entries; `first` where the first entry is the timestamp. */
  readonly timestamp?: string
}

/** Where the signed time is, and how old it may be. */
export interface TimestampSpec {
  /** Where it is; left out where `list` has it. */
  readonly at?: string
  readonly format: TimestampFormat
  readonly toleranceSeconds: number
  readonly aheadSeconds?: number
  readonly isExclusive?: boolean
  /**
   * What becomes of a delivery outside the window that was signed. `quarantine` for senders of whom it is not
   * known whether a retry has a fresh time: a late one that is genuine must not be lost.
   *
   * @defaultValue 'refuse'
   */
  readonly outside?: 'refuse' | 'quarantine'
}

/** What was signed, found by code: the parts in their order, or why the delivery is refused. */
export type SignedBy = (
  reading: Reading,
  context: {
    readonly timestamp: string
    readonly publicUrl: string
    readonly options: BuildContext['options']
  },
) => readonly SignedPart[] | VerdictReason

/** Whether the caller has to say its public URL. */
export function needsPublicUrl({ signed }: SignatureSpec, usesPublicUrl = false): boolean {
  return usesPublicUrl || (typeof signed === 'string' && signed.includes('{url'))
}

/** The parts of a spec that `verifyDelivery` works with. */
export function compileScheme(
  spec: SignatureSpec,
  { provider, options }: BuildContext,
  isPublicUrlNeeded = needsPublicUrl(spec),
): Scheme {
  const publicUrl = isPublicUrlNeeded ? requirePublicUrl(provider, options['publicUrl']) : undefined
  const { signed } = spec
  return {
    readClaim: compileClaim(spec),
    timestamp: spec.timestamp && timestampRule(spec.timestamp, options['toleranceSeconds']),
    signed:
      typeof signed === 'string'
        ? compileTemplate(`${provider}.signed`, signed, { publicUrl, options })
        : {
            headers: spec.signedHeaders ?? [],
            render: (delivery, timestamp) =>
              signed(new UnverifiedReading(delivery), {
                timestamp,
                publicUrl: publicUrl ?? '',
                options,
              }),
          },
  }
}

/** The headers a spec reads, and those its signature covers. */
export function listSpecHeaders(spec: SignatureSpec): {
  readonly headers: readonly string[]
  readonly signedHeaders: readonly string[]
} {
  const headersAt = (place: string | readonly string[] | undefined) =>
    [place ?? []].flat().flatMap((one) => compileLocator('signature', one).header ?? [])
  const time = headersAt(spec.timestamp?.at)
  const signedHeaders =
    typeof spec.signed === 'string'
      ? [
          ...compileTemplate('signed', spec.signed, {}).headers,
          ...(spec.signed.includes('{timestamp}') ? time : []),
        ]
      : (spec.signedHeaders ?? [])
  return { headers: [...headersAt(spec.signature), ...time, ...signedHeaders], signedHeaders }
}

/** Whether what is signed holds the body's bytes, or all that is read of them. */
export function signsBody({ signed }: SignatureSpec): boolean {
  return typeof signed === 'function' || /\{(?:body|form)\}/.test(signed)
}

function timestampRule(spec: TimestampSpec, toleranceSeconds: unknown): TimestampRule {
  const chosen = typeof toleranceSeconds === 'number' ? toleranceSeconds : spec.toleranceSeconds
  return {
    format: spec.format,
    toleranceSeconds: chosen,
    ...(spec.aheadSeconds !== undefined && { aheadSeconds: spec.aheadSeconds }),
    ...(spec.isExclusive !== undefined && { isExclusive: spec.isExclusive }),
    ...(spec.outside !== undefined && { outside: spec.outside }),
  }
}

function compileClaim(spec: SignatureSpec): (delivery: Delivery) => Claim | VerdictReason {
  const places = [spec.signature].flat().map((place) => compileLocator('signature', place))
  const prefixes = [spec.prefix ?? ''].flat()
  const time =
    spec.timestamp?.at === undefined ? undefined : compileLocator('timestamp', spec.timestamp.at)
  return (delivery) => {
    const reading = new UnverifiedReading(delivery)
    const entries: string[] = []
    for (const place of places) {
      const value = place.find(reading)
      if (value !== undefined) entries.push(...splitEntries(value, spec.list))
    }
    if (entries.length === 0) return 'missing-header'
    const signatures: string[] = []
    for (const entry of entries) {
      const prefix = prefixes.find((one) => entry.startsWith(one))
      if (prefix !== undefined) signatures.push(entry.slice(prefix.length))
    }
    if (spec.timestamp === undefined) return { signatures }
    if (time !== undefined) {
      const timestamp = time.find(reading)
      return timestamp === undefined ? 'missing-header' : { signatures, timestamp }
    }
    return takeTimestamp(entries, signatures, spec.list?.timestamp ?? '')
  }
}

/** The timestamp among the entries of a list. */
function takeTimestamp(
  entries: readonly string[],
  signatures: readonly string[],
  label: string,
): Claim | VerdictReason {
  if (label === 'first') {
    const [timestamp, ...rest] = entries
    return timestamp === undefined ? 'malformed-header' : { signatures: rest, timestamp }
  }
  const found = entries.filter((entry) => entry.startsWith(label))
  // Two timestamps: which one was signed would be ours to guess.
  if (found.length !== 1) return 'malformed-header'
  return { signatures, timestamp: (found[0] as string).slice(label.length) }
}

/** More entries than any rotation makes are not even looked at: they only keep us busy. */
const ENTRIES_MAX = 64

function splitEntries(value: string, list: SignatureList | undefined): readonly string[] {
  if (list === undefined) return [value]
  // Some write a space after the comma. What stands behind an entry is part of it.
  return value.split(list.separator, ENTRIES_MAX).map((entry) => entry.trimStart())
}
