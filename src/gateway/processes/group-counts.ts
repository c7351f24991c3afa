import { keepCounted, sumCounted } from '../../metrics/counted.ts'
import type { Counted } from '../../metrics/counted.ts'

/** What the children of a group have counted: each says it now and then, and what one that died has said stays. */
export class GroupCounts<Child> {
  readonly #living = new Map<Child, Counted>()
  /** Of those that are gone. A counter that went down would look to Prometheus like one that began anew. */
  #kept: Counted = {}

  hear(child: Child, counted: Counted): void {
    this.#living.set(child, counted)
  }

  /** Nothing more is heard of it. */
  bury(child: Child): void {
    this.#kept = sumCounted([this.#kept, keepCounted(this.#living.get(child) ?? {})])
    this.#living.delete(child)
  }

  sum(): Counted {
    return sumCounted([this.#kept, ...this.#living.values()])
  }
}
