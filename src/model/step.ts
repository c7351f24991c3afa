/**
 * - `tx`: writes of ours, in one transaction with the fact that the step is done.
 * - `call`: something outside, recorded as started before and as done after.
 * - `send`: messages for the outbox.
 */
export type StepKind = 'tx' | 'call' | 'send'

/**
 * - `started`: a call was about to be made, and its outcome is not known.
 * - `refused`: the other side said that nothing has happened.
 * - `done`: its result is kept.
 */
export type StepState = 'started' | 'refused' | 'done'

/** A step of an event as it is kept. */
export interface StepRecord {
  readonly handler: string
  /** From 1, in the order in which the handler began its steps. */
  readonly position: number
  readonly kind: StepKind
  readonly name: string
  readonly state: StepState
  /** How often it was started. */
  readonly starts: number
  /** Since when its outcome is uncertain, or when it was first started. */
  readonly startedAt: Date
  /** JSON text; `undefined` for a step that returned nothing, or is not done. */
  readonly result: string | undefined
}
