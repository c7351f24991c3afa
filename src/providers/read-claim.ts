import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import type { VerdictReason } from '../model/source.ts'
import type { Claim } from '../verify/verify-delivery.ts'

/**
 * The claim of a sender that puts one signature into one header, behind an optional prefix, and its
 * timestamp, if any, into another.
 */
export function readPlainClaim({
  header,
  prefix = '',
  timestampHeader,
}: {
  readonly header: string
  readonly prefix?: string
  readonly timestampHeader?: string
}): (delivery: Delivery) => Claim | VerdictReason {
  return (delivery) => {
    const value = findHeader(delivery, header)
    if (value === undefined) return 'missing-header'
    const signatures = value.startsWith(prefix) ? [value.slice(prefix.length)] : []
    if (timestampHeader === undefined) return { signatures }

    const timestamp = findHeader(delivery, timestampHeader)
    return timestamp === undefined ? 'missing-header' : { signatures, timestamp }
  }
}
