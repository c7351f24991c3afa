/**
 * What the kit has to know of a provider to make its deliveries: payloads, and how to sign where the
 * declaration's data does not say it all.
 *
 * @module
 */

import type { KeyObject } from 'node:crypto'
import type { ProviderDefinition } from '../providers/index.ts'

/** Sample payloads of a provider, and how to sign them where its declaration does not say. */
export interface ProviderFixture {
  /** The provider; only its declaration is looked at. */
  readonly provider: { readonly definition: ProviderDefinition }
  /** A payload for each event type. The first is the default. */
  readonly events: Readonly<Record<string, (event: FixtureEvent) => FixtureContent>>
  /**
   * A key in the shape the provider gives.
   *
   * @defaultValue a UUID
   */
  readonly freshKey?: () => string
  /**
   * Options and credentials for tests that say none, where a scheme's are like no other: a secret in hex, or an option
   * beside it that is signed.
   *
   * @defaultValue made up, as the scheme takes them
   */
  readonly configuration?: () => Configuration
  /** For schemes that are code: what signing adds to a delivery. */
  readonly sign?: (draft: DeliveryDraft, credentials: Credentials) => Partial<DeliveryDraft>
}

/** The event that a sample payload shall tell of. */
export interface FixtureEvent {
  /** What the event's own id shall be; where a provider has none, something to tell events apart by. */
  readonly key: string
  readonly type: string
  readonly at: Date
}

/** What a sample delivery carries. */
export interface FixtureContent {
  /** An object or a list is written as JSON, or as a form where the content type says so. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** @defaultValue 'application/json' */
  readonly contentType?: string
}

/** A delivery on its way to be signed. */
export interface DeliveryDraft {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly at: Date
  readonly key: string
}

/** Options of a source, and what its sender signs with. */
export interface Configuration {
  readonly options: object
  readonly credentials: Credentials
}

/** What the sender signs with. */
export interface Credentials {
  /** The shared secret, as the source was given it. */
  readonly secret?: string
  /** The private key that belongs to the source's public key, certificate or JSON Web Key. */
  readonly privateKey?: KeyObject | string
  /** The URL the source was given, for senders that sign it. */
  readonly publicUrl?: string
  /** Other texts the source was given that are signed, by the names of their options. */
  readonly options?: Readonly<Record<string, string>>
}
