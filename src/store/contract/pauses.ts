import type { Acted, Ordered, PauseKind } from './operators.ts'

/**
 * What a store must do to keep a source, a handler or a destination still. A pause stops nothing that runs, and no
 * delivery: events and messages are kept, and wait.
 */
export interface PauseStore {
  /** `PAUSED` when it is. */
  pause(subject: PauseSubject, order: Ordered): Promise<PauseActed>
  /** `NOT_PAUSED` when it is not. */
  resume(subject: PauseSubject, order: Ordered): Promise<PauseActed>
  /** Everything that is paused. */
  list(): Promise<readonly PauseRecord[]>
}

export interface PauseSubject {
  readonly kind: PauseKind
  readonly name: string
}

export type PauseActed =
  { readonly status: 'done' } | Extract<Acted, { readonly status: 'refused' }>

/** What is paused, by whom, why and since when. */
export interface PauseRecord extends PauseSubject {
  readonly reason: string | undefined
  readonly actor: string | undefined
  readonly pausedAt: Date
}
