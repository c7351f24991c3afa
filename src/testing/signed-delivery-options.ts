import type { HmacOptions } from '../providers/index.ts'

export type SignedProvider = 'stripe' | 'github' | 'shopify' | 'standardWebhooks'

export interface SignedDeliveryOptions {
  /** The secret to sign with, as the source was given it. */
  readonly secret: string
  /**
   * The body. An object is written as JSON, with `key` and `type` put where the provider has them;
   * text and bytes are sent as they are.
   *
   * @defaultValue a small realistic payload of the provider
   */
  readonly body?: string | Uint8Array | Readonly<Record<string, unknown>>
  /**
   * The event key.
   *
   * @defaultValue a fresh one
   */
  readonly key?: string
  /**
   * The event type.
   *
   * @defaultValue a common one of the provider
   */
  readonly type?: string
  /**
   * When it is sent and received.
   *
   * @defaultValue now
   */
  readonly at?: Date
  /** More headers, or others in place of the provider's. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** As `hmac` takes them, and what to put into the delivery. The first of `secrets` signs. */
export interface SignedHmacDeliveryOptions extends HmacOptions {
  readonly body?: SignedDeliveryOptions['body']
  /** What is put where `key` points, unless that is the body itself. */
  readonly eventKey?: string
  /** What is put where `type` points. */
  readonly eventType?: string
  readonly at?: Date
  readonly headers?: Readonly<Record<string, string>>
}
