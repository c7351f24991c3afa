/** One HTTP request that arrived, before anything about it is believed. */
export interface Delivery {
  readonly method: string
  /** The URL as the server saw it. Never used to verify: a scheme that signs the URL takes it from configuration. */
  readonly url: string
  /** Lower-case names. A header that came more than once has a list, never a joined string. */
  readonly headers: DeliveryHeaders
  /** The bytes as they arrived. Nothing parses, trims or re-encodes them. */
  readonly body: Uint8Array
  readonly receivedAt: Date
}

/** Headers by their lower-case names; a list where one came more than once. */
export type DeliveryHeaders = Readonly<Record<string, string | readonly string[]>>

/**
 * The one value of a header, or `undefined` when it is absent.
 *
 * A header that came twice has two values; such a delivery is refused before a source
 * sees it (`receive/limits.ts`), so a list of one is the only list that gets this far.
 */
export function findHeader(delivery: Delivery, name: string): string | undefined {
  const value = Object.hasOwn(delivery.headers, name) ? delivery.headers[name] : undefined
  if (value === undefined || typeof value === 'string') return value
  return value.length === 1 ? value[0] : undefined
}
