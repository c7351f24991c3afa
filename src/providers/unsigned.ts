/**
 * A sender that signs nothing. Anybody who knows the URL can make events.
 *
 * @module
 */

import { requireOneOf } from '../errors.ts'
import type { AnyEvents, EventMap, Source, SourceOptions } from '../model/source.ts'
import { defineSource, requireOptions, SOURCE_OPTION_KEYS } from './define-source.ts'
import { compileIdentity, identifyBy, listHeaders } from './hmac.ts'

/** Where the key and the type of events are that nobody has signed. */
export interface UnsignedOptions extends SourceOptions {
  /** In so many words, so that nobody leaves verification out by leaving something out. */
  readonly verify: 'none'
  /** Where the event key is, see `HmacOptions.key`. */
  readonly key: string | readonly string[]
  /**
   * Where the event type is: `json:$.path` or `header:<name>`.
   *
   * @defaultValue every event has the type 'unknown'
   */
  readonly type?: string
}

/**
 * A source whose deliveries are believed as they come. It warns at every boot.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function unsigned<Events extends EventMap = AnyEvents>(
  options: UnsignedOptions,
): Source<Events> {
  requireOptions('unsigned', options, ['verify', 'key', 'type', ...SOURCE_OPTION_KEYS])
  requireOneOf('unsigned.verify', options.verify, ['none'])
  const identity = compileIdentity('unsigned', options)
  const facts = {
    provider: 'unsigned',
    securityHeaders: listHeaders([...identity.keys, ...(identity.type ? [identity.type] : [])]),
    retryWindowHours: null,
    // Whoever can send the same bytes again can send others as well.
    sameBytes: 'run',
  } as const
  return defineSource<Events>(facts, options, {
    warnings: ["This source has verify: 'none': whoever knows its URL can make events."],
    verify: () => ({ ok: true, secret: 'none' }),
    identify: (delivery) => identifyBy(identity, delivery),
  })
}
