/**
 * What a provider's declaration cannot say of itself, and its checks have to know.
 *
 * @module
 */

import type { Delivery } from '../model/delivery.ts'
import type { Configuration, ProviderFixture } from './fixture.ts'
import type { SignedEvent } from './signed-event.ts'

/** What `checkProvider` has to know of a provider and cannot read in its declaration. */
export interface ProviderCase {
  /** Its sample payloads, and how to sign where the declaration does not say it. */
  readonly fixture: ProviderFixture
  /** Options beside those that the scheme needs, which are made up. */
  readonly options?: object
  /** Options and credentials in place of made-up ones, where a scheme's are like no other. */
  readonly configuration?: Configuration
  /** The same with other secrets. Needed where `configuration` is given. */
  readonly otherConfiguration?: Configuration
  /** What the scheme does not cover, and why that is safe. */
  readonly uncovered?: Uncovered
  /**
   * A retry as the provider makes it, of a delivery that `resign` can sign anew after a change.
   *
   * @defaultValue the same event, signed anew a minute later
   */
  readonly retryOf?: (delivery: Delivery, resign: Resign) => Delivery
  /**
   * Whether a retry that is signed anew is the same event.
   *
   * @defaultValue true
   */
  readonly retryIsSameEvent?: false
  /** For providers that put several events into one delivery: the body of a delivery with these. */
  readonly batch?: (keys: readonly string[], at: Date) => unknown
  /** What it sends to check an endpoint, with the answers it wants. Needed where the declaration has handshakes. */
  readonly handshakes?: readonly HandshakeCase[]
}

/** What of a delivery may be changed although the rest is signed, each with why that is safe. */
export interface Uncovered {
  /** Why the whole body may change, for schemes that sign none of it. */
  readonly body?: string
  /** Why some bytes of the body may change: those for which this is true. */
  readonly bodyBytes?: {
    readonly why: string
    readonly covers: (body: string, at: number) => boolean
    /**
     * For senders whose events are known by such bytes as well, so that nothing but what shows the secret
     * tells an honest body.
     */
    readonly identifies?: true
  }
  /** Why bodies that differ may be signed alike, as those of forms are, and what of one is signed. */
  readonly sameText?: {
    readonly why: string
    readonly signed: (body: string) => string
  }
  /** Why the value of a header may change, by its name. */
  readonly headers?: Readonly<Record<string, string>>
}

/** One handshake, and the exact answer to it. */
export interface HandshakeCase {
  readonly name: string
  /** A delivery; one that is signed is made with `signed`. */
  readonly deliver: (signed: (event: SignedEvent) => Delivery) => Partial<Delivery>
  readonly answer:
    { readonly status: number; readonly body?: string; readonly headers?: object } | 'refuse'
  readonly options?: object
}

/** Signs a body anew, as the provider would at that time. */
export type Resign = (change: {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly afterSeconds?: number
}) => Delivery
