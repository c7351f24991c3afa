/**
 * Any sender that signs with HMAC and has no file of its own here.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type {
  AnyEvents,
  EventMap,
  SameBytesPolicy,
  Source,
  SourceOptions,
} from '../model/source.ts'
import type { SignatureEncoding } from '../verify/decode.ts'
import { isHeaderName } from '../model/header-name.ts'
import { hmacSigner } from '../verify/hmac.ts'
import type { HmacAlgorithm } from '../verify/hmac.ts'
import { resolveSecrets } from '../verify/secrets.ts'
import type { Secret } from '../verify/secrets.ts'
import { compileSignedTemplate } from '../verify/signed-template.ts'
import type { SignedTemplate } from '../verify/signed-template.ts'
import type { TimestampFormat, TimestampRule } from '../verify/timestamp.ts'
import { verifyDelivery } from '../verify/verify-delivery.ts'
import {
  defineSource,
  requireOptions,
  requireTolerance,
  SOURCE_OPTION_KEYS,
} from './define-source.ts'
import type { Identification } from './identification.ts'
import {
  compileOwnIdentity,
  IDENTITY_OPTION_KEYS,
  requireManualRedelivery,
  requireRetryWindow,
} from './own-identity.ts'
import type { IdentityOptions } from './own-identity.ts'
import { readPlainClaim } from './read-claim.ts'

/** How a sender signs, and what it says of its events. */
export interface HmacOptions extends SourceOptions, IdentityOptions {
  /** The header that carries the signature. */
  readonly header: string
  /** The hash of the HMAC. */
  readonly algorithm: HmacAlgorithm
  /** How the signature is written. */
  readonly encoding: Exclude<SignatureEncoding, 'lower-hex'>
  /**
   * What stands before the signature in its header, such as `sha256=`.
   *
   * @defaultValue ''
   */
  readonly prefix?: string
  /** The signing secrets. Several are tried in order, for a rotation. */
  readonly secrets: readonly Secret[]
  /**
   * How the text of a secret becomes the bytes of a key.
   *
   * @defaultValue 'utf8'
   */
  readonly secretEncoding?: 'utf8' | 'hex' | 'base64'
  /**
   * Where the signed timestamp is, for senders that have one; `signed` must contain it. Left out, a captured
   * delivery is believed at any age, and only its key tells that it is a duplicate.
   */
  readonly timestamp?: HmacTimestampOptions
  /**
   * What is signed: `{body}`, `{timestamp}` and `{header:<name>}` with text between them, such as
   * `{timestamp}.{body}`. The bytes of the parts are joined as they are, so a header that contains the text
   * beside it could be read in two ways, and is refused. With no text beside it nothing can tell, which is
   * warned about.
   *
   * @defaultValue '{body}'
   */
  readonly signed?: string
}

/** Where a signed timestamp is, and how old it may be. */
export interface HmacTimestampOptions {
  /** The header that carries it. */
  readonly header: string
  /** How it is written. */
  readonly format: TimestampFormat
  /**
   * How old it may be, and how far ahead of our clock.
   *
   * @defaultValue 300
   */
  readonly toleranceSeconds?: number
}

const HMAC_OPTION_KEYS = [
  'header',
  'algorithm',
  'encoding',
  'prefix',
  'secrets',
  'secretEncoding',
  'timestamp',
  'signed',
  ...IDENTITY_OPTION_KEYS,
  ...SOURCE_OPTION_KEYS,
]

/**
 * A source for any sender that signs with HMAC. Everything is checked here, before any delivery.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 * @throws HookonceError with the code SECRET_MISSING for a secret that is missing or empty
 */
export function hmac<Events extends EventMap = AnyEvents>(options: HmacOptions): Source<Events> {
  requireOptions('hmac', options, HMAC_OPTION_KEYS)
  const { algorithm, encoding, prefix = '', secretEncoding = 'utf8', signed = '{body}' } = options
  requireOneOf('hmac.algorithm', algorithm, ['sha1', 'sha256', 'sha512'])
  requireOneOf('hmac.encoding', encoding, ['hex', 'base64', 'base64url'])
  requireOneOf('hmac.secretEncoding', secretEncoding, ['utf8', 'hex', 'base64'])
  requireText('hmac.prefix', prefix)
  requireText('hmac.signed', signed)
  const header = requireHeaderName('hmac.header', options.header)
  const timestamp = options.timestamp && resolveTimestamp(options.timestamp)
  const template = compileSignedTemplate('hmac.signed', signed, {
    hasTimestamp: timestamp !== undefined,
  })
  const identification = compileOwnIdentity('hmac', options)
  const { secrets, warnings } = resolveSecrets('hmac', options.secrets, secretEncoding)

  const scheme = {
    readClaim: readPlainClaim({
      header,
      prefix,
      ...(timestamp && { timestampHeader: timestamp.header }),
    }),
    timestamp: timestamp?.rule,
    signed: template,
  }
  const findSigner = hmacSigner(secrets, { algorithm, encoding })
  const facts = {
    provider: 'hmac',
    securityHeaders: [
      header,
      ...(timestamp ? [timestamp.header] : []),
      ...template.headers,
      ...identification.headers,
    ],
    retryWindowHours: requireRetryWindow('hmac', options.retryWindowHours),
    manualRedeliveryHours: requireManualRedelivery('hmac', options.manualRedeliveryHours),
    sameBytes: defaultSameBytes(identification, template),
  }
  return defineSource<Events>(facts, options, {
    warnings: template.isAmbiguous === true ? [...warnings, AMBIGUOUS] : warnings,
    secrets,
    verify: (delivery) => verifyDelivery(scheme, findSigner, delivery),
    identify: (delivery) => identification.identify(delivery),
  })
}

const AMBIGUOUS =
  'In the signed text of hmac a header has nothing between it and the next part: one signature can be read in two ways. Ask the sender for a separator between them.'

/** A key from signed bytes can be believed; one from the query, or an unsigned header, can be made up. */
function defaultSameBytes(
  { keyHeaders, keyReadsQuery }: Identification,
  { headers }: SignedTemplate,
): SameBytesPolicy {
  const isSigned = !keyReadsQuery && keyHeaders.every((header) => headers.includes(header))
  return isSigned ? 'run' : 'quarantine'
}

function resolveTimestamp(options: HmacTimestampOptions): { header: string; rule: TimestampRule } {
  requireOptions('hmac.timestamp', options, ['header', 'format', 'toleranceSeconds'])
  const { format, toleranceSeconds = 300 } = options
  requireOneOf('hmac.timestamp.format', format, ['seconds', 'milliseconds', 'iso'])
  requireTolerance('hmac.timestamp.toleranceSeconds', toleranceSeconds)
  const header = requireHeaderName('hmac.timestamp.header', options.header)
  return { header, rule: { format, toleranceSeconds } }
}

function requireHeaderName(option: string, value: unknown): string {
  const name = typeof value === 'string' ? value.toLowerCase() : ''
  if (isHeaderName(name)) return name
  throw new OptionInvalidError(option, 'the name of a header', value)
}

function requireText(option: string, value: unknown): void {
  if (typeof value !== 'string') throw new OptionInvalidError(option, 'text', value)
}
