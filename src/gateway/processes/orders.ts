/**
 * What a parent and its children say to each other.
 *
 * A config has functions in it, which no message can carry: each child reads the config for itself, at the parent's
 * word, so that they all read it at the same time and none uses it before all of them can. To stop, a child gets a
 * SIGTERM: that also reaches one that has not begun to listen.
 *
 * @module
 */

import type { Counted } from '../../metrics/counted.ts'

/** From the parent. It is answered under its number. */
export interface Order {
  readonly order: OrderName
  readonly number: number
}

export type OrderName =
  /** Reads the config again and builds what it describes. Nothing is changed by that. */
  | 'prepare'
  /** Takes over what was prepared. */
  | 'take'
  /** Forgets what was prepared. */
  | 'drop'
  /** Says what it has counted, before it answers. */
  | 'count'

/** From the parent, in answer to `collect` and under its number: what all children have counted. */
export interface Collected {
  readonly collected: Counted
  readonly number: number
}

/** From a child. */
export type Report =
  /** It does what it is told from now on. */
  | { readonly report: 'listening' }
  /** It receives, works or relays. */
  | { readonly report: 'started' }
  | { readonly report: 'answer'; readonly number: number; readonly refusal: string | undefined }
  /** What it has counted so far, in place of what it has said before. */
  | { readonly report: 'counted'; readonly counted: Counted }
  /** It is asked for the metrics, and wants to hear what all have counted. */
  | { readonly report: 'collect'; readonly number: number }
