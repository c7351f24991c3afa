import type { Acted, Ordered, PauseKind } from './operators.ts'

/**
 * What a store must do to keep a source, a handler, a destination or a lane still. A pause stops nothing that runs,
 * and no delivery: events and messages are kept, and wait.
 */
export interface PauseStore {
  /** `PAUSED` when it is; `LANE_UNKNOWN` for a lane that no event was ever in. */
  pause(subject: PauseSubject, order: Ordered): Promise<PauseActed>
  /** `NOT_PAUSED` when it is not. */
  resume(subject: PauseSubject, order: Ordered): Promise<PauseActed>
  /** Everything that is paused. */
  list(): Promise<readonly PauseRecord[]>
}

export type PauseSubject = PausedByName | PausedLane

/** What is known by its name alone. */
export interface PausedByName {
  readonly kind: Exclude<PauseKind, 'lane'>
  readonly name: string
}

/** All lanes of a source with this text, whatever their mode. */
export interface PausedLane {
  readonly kind: 'lane'
  /** What the handler's `order.lane` returns. */
  readonly name: string
  readonly source: string
}

export type PauseActed =
  { readonly status: 'done' } | Extract<Acted, { readonly status: 'refused' }>

/** What is paused, by whom, why and since when. */
export type PauseRecord = PauseSubject & {
  readonly reason: string | undefined
  readonly actor: string | undefined
  readonly pausedAt: Date
}

/** As the audit names it. No name of a source has a slash in it. */
export function subjectOfPause(subject: PauseSubject): {
  readonly kind: PauseKind
  readonly id: string
} {
  const { kind, name } = subject
  return { kind, id: subject.kind === 'lane' ? `${subject.source}/${name}` : name }
}
