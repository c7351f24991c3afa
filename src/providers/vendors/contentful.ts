/**
 * Contentful: HMAC over the method, the path with its query, some headers and the body, with a newline
 * between. Which headers is for `x-contentful-signed-headers` to say; the list is in the list itself.
 *
 * What identifies an event is in headers. Contentful need not sign the one with the key, and the body
 * may be transformed into anything, so the same bytes under another key are quarantined.
 *
 * @module
 */

import { escape as escapeQuery } from 'node:querystring'
import { findHeader } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import { isHeaderName } from '../../model/header-name.ts'
import type { Reading } from '../../body/json-path.ts'
import { isByteText } from '../../verify/signed-template.ts'
import type { SignedPart } from '../../verify/signed-template.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { PublicUrlOptions } from '../schemes/public-url.ts'

const SIGNED_HEADERS = 'x-contentful-signed-headers'
const TIMESTAMP = 'x-contentful-timestamp'

/** Contentful's webhooks. An event is known by `x-contentful-idempotency-key`. */
export const contentful: Provider<ContentfulOptions, ContentfulEvents> = defineProvider({
  provider: 'contentful',
  verify: hmacSignature({
    signature: 'header:x-contentful-signature',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    // The secret is text of exactly this length, which is not decoded.
    secretEncoding: (text) => (text.length === 64 ? Buffer.from(text, 'utf8') : undefined),
    // Every try is signed anew, about half a minute after the last, and Contentful's own library takes
    // a request for less than that.
    timestamp: {
      at: `header:${TIMESTAMP}`,
      format: 'milliseconds',
      toleranceSeconds: 30,
      isExclusive: true,
    },
    signed: (reading, { publicUrl }) => renderSigned(reading, publicUrl),
    signedHeaders: [SIGNED_HEADERS, TIMESTAMP],
    usesPublicUrl: true,
  }),
  // Chosen where the webhook is configured. A GET or a DELETE may come without a body.
  methods: ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'],
  key: 'header:x-contentful-idempotency-key',
  scope: { all: ['json:$.sys.space.sys.id', { optional: 'json:$.sys.environment.sys.id' }] },
  type: 'header:x-contentful-topic',
  occurredAt: ['json:$.sys.deletedAt', 'json:$.sys.updatedAt'],
  // Both count the versions of the entry; `revision` counts how often it was published.
  version: ['json:$.sys.version', 'json:$.sys.publishedVersion'],
  retryWindowHours: 0.1,
  timeoutSeconds: 30,
})

/** An entry, an asset, a content type; nothing of it is there where the payload is customised. */
export interface ContentfulPayload {
  readonly sys?: {
    readonly type: string
    readonly id: string
    readonly version?: number
    readonly revision?: number
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly fields?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** Any topic (`ContentManagement.Entry.publish`, …). */
export type ContentfulEvents = Readonly<Record<string, ContentfulPayload>>

/** What `contentful` is configured with. */
export type ContentfulOptions = SecretOptions & PublicUrlOptions

/** More names than a request has headers only keep us busy. */
const NAMES_MAX = 64

function renderSigned(
  { delivery }: Reading,
  publicUrl: string,
): readonly SignedPart[] | VerdictReason {
  const list = findHeader(delivery, SIGNED_HEADERS)
  if (list === undefined) return 'missing-header'
  const names = list.split(',', NAMES_MAX).sort()
  // Without itself the list could be shortened, and without the time a request would be good for ever.
  if (!names.includes(SIGNED_HEADERS) || !names.includes(TIMESTAMP)) return 'malformed-header'
  // What stands between them in the text is in no name, and a line break in no value.
  if (!names.every(isHeaderName)) return 'malformed-header'
  const lines: string[] = []
  for (const name of names) {
    // The list is signed in its order, in whatever order it came.
    const value = name === SIGNED_HEADERS ? names.join(',') : findHeader(delivery, name)
    if (value === undefined) return 'missing-header'
    if (!isByteText(value)) return 'malformed-header'
    lines.push(`${name}:${value.trim()}`)
  }
  // A character of a header is a byte, and is signed as the UTF-8 of the letter that it is in Latin-1.
  const head = [delivery.method, renderPath(publicUrl), lines.join(';'), ''].join('\n')
  return [Buffer.from(head, 'utf8'), delivery.body]
}

/** As it goes over the wire, its query escaped as a whole, and all of it once more. */
function renderPath(publicUrl: string): string {
  const { pathname, search } = new URL(publicUrl)
  return encodeURI(search === '' ? pathname : `${pathname}?${escapeQuery(search.slice(1))}`)
}
