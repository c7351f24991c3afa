/**
 * What is checked before a signature: cheap, total, and without looking at the body's content. And, after it,
 * how many events a delivery may carry.
 *
 * @module
 */

import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { Identified, IdentifyLimits, Source } from '../model/source.ts'
import { encoded, malformed, tooLarge, wrongMethod } from './acknowledge.ts'

/** What is known of a source before a request to it is read. */
export interface SourceLimits {
  readonly methods: readonly string[]
  readonly bodyBytesMax: number
}

/** What a source says, and else the options of `receive`. */
export function resolveSourceLimits(
  source: Pick<Source, 'methods' | 'bodyBytesMax'>,
  { bodyBytesMax }: { readonly bodyBytesMax: number },
): SourceLimits {
  return {
    methods: source.methods ?? DEFAULT_METHODS,
    bodyBytesMax: source.bodyBytesMax ?? bodyBytesMax,
  }
}

/** What a source takes that says nothing of methods. */
const DEFAULT_METHODS: readonly string[] = ['POST']

/** The answer to a delivery that breaks a limit, or `undefined` when it breaks none. */
export function findBreach(
  source: Source,
  delivery: Delivery,
  options: { readonly bodyBytesMax: number },
): Acknowledgement | undefined {
  const { methods, bodyBytesMax } = resolveSourceLimits(source, options)
  if (!methods.includes(delivery.method)) return wrongMethod(methods)
  if (delivery.body.byteLength > bodyBytesMax) return tooLarge(bodyBytesMax)
  // 50 MiB of zeros are 93 bytes of brotli. A body that is refused need not be unpacked within limits.
  if (isEncoded(delivery)) return encoded()
  // Node joins a repeated header into "evil, real"; whichever value were taken, the other party
  // in front of us may have taken the other one.
  if (source.securityHeaders.some((name) => countValues(delivery, name) > 1)) return malformed()
  return undefined
}

/** The events of a delivery; where there are too many, the delivery as one that is kept and not run. */
export function keepWithin({ eventsMax }: IdentifyLimits, events: Identified): Identified {
  if (events.length <= eventsMax) return events
  return [{ key: undefined, type: 'unknown', quarantine: 'too many events' }]
}

function isEncoded(delivery: Delivery): boolean {
  const encoding = delivery.headers['content-encoding']
  if (encoding === undefined) return false
  return [encoding].flat().some((value) => value.trim().toLowerCase() !== 'identity')
}

function countValues(delivery: Delivery, name: string): number {
  const value = Object.hasOwn(delivery.headers, name) ? delivery.headers[name] : undefined
  return Array.isArray(value) ? value.length : 1
}
