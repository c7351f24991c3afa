import type { HappeningName, Happenings } from './happenings.ts'

/** Hears of one kind of happening. What it throws, or rejects with, harms no other listener and not the caller. */
export type HappeningListener<Name extends HappeningName> = (happening: Happenings[Name]) => void
/** Hears of everything, by its name. */
export type AnyHappeningListener = <Name extends HappeningName>(
  name: Name,
  happening: Happenings[Name],
) => void

/** Tells listeners what happens. A listener that throws or rejects harms no other listener and not the caller. */
export class HappeningEmitter {
  readonly #listeners = new Map<HappeningName, Set<(happening: never) => void>>()
  readonly #anyListeners = new Set<AnyHappeningListener>()

  /** Listens to one kind of happening; returns how to stop. */
  on<Name extends HappeningName>(name: Name, listener: HappeningListener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  /** Listens to everything; returns how to stop. */
  onAny(listener: AnyHappeningListener): () => void {
    this.#anyListeners.add(listener)
    return () => void this.#anyListeners.delete(listener)
  }

  emit<Name extends HappeningName>(name: Name, happening: Happenings[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      shield(() => (listener as HappeningListener<Name>)(happening))
    }
    for (const listener of this.#anyListeners) shield(() => listener(name, happening))
  }
}

/** A listener watches; what it does wrong must not change what happens to a webhook. */
function shield(call: () => unknown): void {
  try {
    const returned = call()
    // The end of an async listener is not awaited, and Node ends the process for an unhandled rejection.
    if (returned instanceof Promise) returned.catch(() => undefined)
  } catch {
    // Nothing to do.
  }
}
