import type { Delivery } from './delivery.ts'

/**
 * The header that makes a request a probe: one that asks whether a body arrives as it was sent. A request with it is
 * never an event, whatever else is in it.
 */
export const PROBE_HEADER = 'hookonce-probe'

/** What a probe says of itself, once it is believed. */
export interface ProbeReading {
  /** Whether the bytes that arrived are those that were sent. */
  readonly isSame: boolean
}

/** Makes the probes of a source and knows them again. Only a process that has a secret of the source can make one. */
export interface Prober {
  /** The value of the header, for a body that is sent at this moment. */
  sign(body: Uint8Array, at: Date): string
  /** What a probe says; `undefined` for one that was made without a secret of the source, or that is old. */
  read(delivery: Delivery): ProbeReading | undefined
}
