import type { PauseRecord } from '../store/contract/pauses.ts'
import type { HandlerUnit } from './handler-unit.ts'

/**
 * What this worker leaves alone because an operator has paused it, as of the last reading. The events stay ready
 * where they are: a source with a hundred thousand of them is paused and resumed by one row.
 */
export class PausedWork {
  #sources: ReadonlySet<string> = new Set()
  #handlers: ReadonlySet<string> = new Set()

  /** Whether less is paused than before. */
  update(pauses: readonly PauseRecord[]): boolean {
    const namesOf = (kind: PauseRecord['kind']) =>
      new Set(pauses.filter((pause) => pause.kind === kind).map(({ name }) => name))
    const [sources, handlers] = [this.#sources, this.#handlers]
    this.#sources = namesOf('source')
    this.#handlers = namesOf('handler')
    return (
      [...sources].some((name) => !this.#sources.has(name)) ||
      [...handlers].some((name) => !this.#handlers.has(name))
    )
  }

  /** The handlers of an event are one unit: with one of them paused, none of them runs. */
  has(source: string, { handlers }: Pick<HandlerUnit, 'handlers'>): boolean {
    return this.#sources.has(source) || handlers.some(({ name }) => this.#handlers.has(name))
  }
}
