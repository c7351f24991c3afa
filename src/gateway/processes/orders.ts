/**
 * What a parent and its children say to each other.
 *
 * A config has functions in it, which no message can carry: each child reads the config for itself, at the parent's
 * word, so that they all read it at the same time and none uses it before all of them can. To stop, a child gets a
 * SIGTERM: that also reaches one that has not begun to listen.
 *
 * @module
 */

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

/** From a child. */
export type Report =
  /** It does what it is told from now on. */
  | { readonly report: 'listening' }
  /** It receives, works or relays. */
  | { readonly report: 'started' }
  | { readonly report: 'answer'; readonly number: number; readonly refusal: string | undefined }
