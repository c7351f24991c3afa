/**
 * The steps that earlier attempts of a handler have taken, to be taken again in the same order.
 *
 * A step is known by its place and its name. If the code was changed so that another step is at that place,
 * the kept results can no longer be matched with what it does now; then nothing further is done.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { StepKind, StepRecord } from '../../model/step.ts'

export interface HistoryEntry {
  readonly position: number
  readonly name: string
  /** What an earlier attempt has left of it. */
  readonly kept: StepRecord | undefined
}

const NAME_LENGTH_MAX = 200

export class StepHistory {
  readonly #records: ReadonlyMap<number, StepRecord>
  readonly #names = new Set<string>()
  #position = 0

  constructor(records: readonly StepRecord[]) {
    this.#records = new Map(records.map((record) => [record.position, record]))
  }

  /**
   * The next step. Called when the handler begins it, before anything is waited for: steps that are begun
   * together are in the order of their calls.
   *
   * @throws HookonceError STEP_INVALID, STEP_HISTORY_CHANGED
   */
  next(kind: StepKind, name: string): HistoryEntry {
    requireName(name)
    if (this.#names.has(name)) {
      throw new HookonceError(
        'STEP_INVALID',
        `There are two steps named ${JSON.stringify(name)}: results and idempotency keys are kept by name, so give each its own`,
      )
    }
    this.#names.add(name)
    this.#position += 1
    const kept = this.#records.get(this.#position)
    if (kept !== undefined && (kept.name !== name || kept.kind !== kind)) {
      throw changed(
        this.#position,
        `an earlier attempt had ${describe(kept)} here, and now it is ${describe({ kind, name })}`,
      )
    }
    return { position: this.#position, name, kept }
  }

  /** To be asked when the handler has ended. @throws HookonceError STEP_HISTORY_CHANGED */
  requireAllTaken(): void {
    for (const [position, record] of this.#records) {
      if (position <= this.#position) continue
      throw changed(
        position,
        `an earlier attempt had ${describe(record)} here, and now the handler ended before`,
      )
    }
  }
}

function requireName(name: unknown): asserts name is string {
  const isName =
    typeof name === 'string' &&
    name !== '' &&
    name.length <= NAME_LENGTH_MAX &&
    name.isWellFormed() &&
    !name.includes('\0')
  if (isName) return
  throw new HookonceError(
    'STEP_INVALID',
    `A step must have a name of at most ${NAME_LENGTH_MAX} characters`,
  )
}

function changed(position: number, what: string): HookonceError {
  return new HookonceError(
    'STEP_HISTORY_CHANGED',
    `Step history mismatch at ${position}: ${what}. Nothing was done; deploy the steps as they were, or handle the event by hand`,
  )
}

function describe({ kind, name }: Pick<StepRecord, 'kind' | 'name'>): string {
  return `step.${kind}(${JSON.stringify(name)})`
}
