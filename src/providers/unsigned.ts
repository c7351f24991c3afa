/**
 * A sender that signs nothing. A stranger who knows the URL can make events.
 *
 * @module
 */

import { requireOneOf } from '../options/require-one-of.ts'
import type { AnyEvents, EventMap, Source, SourceOptions } from '../model/source.ts'
import { defineSource, requireOptions, SOURCE_OPTION_KEYS } from './define-source.ts'
import {
  compileOwnIdentity,
  IDENTITY_OPTION_KEYS,
  requireManualRedelivery,
  requireRetryWindow,
} from './own-identity.ts'
import type { IdentityOptions } from './own-identity.ts'

/** What a sender says of events that are not signed. */
export interface UnsignedOptions extends SourceOptions, IdentityOptions {
  /** In so many words, so that verification is never left out by an oversight. */
  readonly verify: 'none'
}

/**
 * A source whose deliveries are believed as they come. It warns at every boot.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function unsigned<Events extends EventMap = AnyEvents>(
  options: UnsignedOptions,
): Source<Events> {
  requireOptions('unsigned', options, ['verify', ...IDENTITY_OPTION_KEYS, ...SOURCE_OPTION_KEYS])
  requireOneOf('unsigned.verify', options.verify, ['none'])
  const identification = compileOwnIdentity('unsigned', options)
  const facts = {
    provider: 'unsigned',
    securityHeaders: identification.headers,
    retryWindowHours: requireRetryWindow('unsigned', options.retryWindowHours),
    manualRedeliveryHours: requireManualRedelivery('unsigned', options.manualRedeliveryHours),
    // A stranger who can send the same bytes again can send others as well.
    sameBytes: 'run',
  } as const
  return defineSource<Events>(facts, options, {
    warnings: ["This source has verify: 'none': a stranger who knows its URL can make events."],
    verify: () => ({ ok: true, secret: 'none' }),
    identify: (delivery) => identification.identify(delivery),
  })
}
