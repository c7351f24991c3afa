/**
 * What a sender without a file of its own says of its events, as options: the same that a provider declares.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { compileLocators } from '../body/json-path.ts'
import { compileIdentification } from './identification.ts'
import type { Identification } from './identification.ts'

/**
 * Where the parts of an event's identity are: `json:$.path`, `header:<name>`, `form:<field>`, `query:<name>`, or a
 * list of them tried in order.
 */
export interface IdentityOptions {
  /**
   * Where the event key is. What is not signed, a query above all, can be made up: see `sameBytes`. For a
   * sender without any id `body` takes the hash of the body, which makes two equal bodies one event.
   */
  readonly key: string | readonly string[]
  /**
   * Where the event type is.
   *
   * @defaultValue every event has the type 'unknown'
   */
  readonly type?: string | readonly string[]
  /**
   * Where that is which narrows the key, such as an account or a shop: one key in two of them is two events.
   *
   * @defaultValue the key alone is the identity
   */
  readonly scope?: string | readonly string[]
  /**
   * Where the time is at which it happened: ISO 8601, or seconds or milliseconds since 1970.
   *
   * @defaultValue events have no `occurredAt`
   */
  readonly occurredAt?: string | readonly string[]
  /**
   * Where that is which rises when the object changes.
   *
   * @defaultValue none
   */
  readonly version?: string | readonly string[]
  /**
   * Where the sender's count of its events is.
   *
   * @defaultValue none
   */
  readonly sequence?: string | readonly string[]
  /**
   * Values of a JSON body that differ from one retry to the next, as paths: `['$.attempt']`. They are left out of
   * what tells a duplicate from a conflict.
   *
   * @defaultValue every byte of the body counts
   */
  readonly volatile?: readonly string[]
  /**
   * How long the sender goes on retrying by itself, in hours. Keys must be kept for longer.
   *
   * @defaultValue null, for not known
   */
  readonly retryWindowHours?: number | null
  /**
   * For how long after that a person can have the sender deliver an event again, by a button or an API, in hours; 0
   * where that is not possible. Keys must be kept for both together.
   *
   * @defaultValue 72
   */
  readonly manualRedeliveryHours?: number
}

const PLACES = ['key', 'type', 'scope', 'occurredAt', 'version', 'sequence'] as const

/** The names of `IdentityOptions`. */
export const IDENTITY_OPTION_KEYS: readonly string[] = [
  ...PLACES,
  'volatile',
  'retryWindowHours',
  'manualRedeliveryHours',
]

/** @throws OptionInvalidError for a place or a path that cannot be read */
export function compileOwnIdentity(source: string, options: IdentityOptions): Identification {
  for (const name of PLACES) {
    // Locators only: a declaration's other places, code for instance, are no options.
    if (name === 'key' || options[name] !== undefined) {
      compileLocators(`${source}.${name}`, options[name])
    }
  }
  const { volatile = [], key } = options
  if (!Array.isArray(volatile) || !volatile.every((path) => typeof path === 'string')) {
    throw new OptionInvalidError(
      `${source}.volatile`,
      'a list of paths such as $.attempt',
      volatile,
    )
  }
  if (volatile.length > 0 && [key].flat().includes('body')) {
    // The hash of the body has them in it: each retry would be another event.
    throw new OptionInvalidError(`${source}.volatile`, "left out with 'body' as a key", volatile)
  }
  return compileIdentification(source, options)
}

/** @throws OptionInvalidError for what is no time */
export function requireRetryWindow(source: string, hours: unknown): number | null {
  if (hours === undefined || hours === null) return null
  if (isHours(hours)) return hours
  throw new OptionInvalidError(`${source}.retryWindowHours`, 'hours, or null for not known', hours)
}

/** @throws OptionInvalidError for what is no time */
export function requireManualRedelivery(source: string, hours: unknown): number | undefined {
  if (hours === undefined || isHours(hours)) return hours
  throw new OptionInvalidError(`${source}.manualRedeliveryHours`, 'hours, or left out', hours)
}

function isHours(hours: unknown): hours is number {
  return typeof hours === 'number' && Number.isFinite(hours) && hours >= 0
}
