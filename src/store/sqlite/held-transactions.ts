import type { WorkerSlot } from '../contract/workers.ts'
import { SqliteGroup } from './group.ts'
import type { GroupInput } from './group.ts'
import { HeldTransaction } from './held-transaction.ts'
import type { HeldTransactionParts } from './held-transaction.ts'
import { HoldTimes } from './hold-times.ts'
import type { Holder } from './hold-times.ts'
import type { Turn } from './turn.ts'

/** The transactions of a store that are lent to handlers now. At most one of them is open: there is one writer. */
export class HeldTransactions {
  /** By slot; one that opens late may have no transaction yet. */
  readonly #groups = new Map<string, SqliteGroup>()
  /** The slot whose group has its transaction open. */
  #openSlot: string | undefined
  #steps: HeldTransaction | undefined
  readonly #times = new HoldTimes()

  /** Whether one is open, so that nothing else can be written. */
  isOpen(): boolean {
    return this.#openSlot !== undefined || this.#steps !== undefined
  }

  hasGroup(slot: WorkerSlot): boolean {
    return this.#groups.has(nameOf(slot))
  }

  /** How long the slowest of these is likely to hold the writer; 0 if none of them is slow. */
  findSlowMs(holders: readonly Holder[]): number {
    return this.#times.findSlowMs(holders)
  }

  holdGroup(input: Omit<GroupInput, 'slowMs' | 'onOpen' | 'onEnd'>, turn?: Turn): SqliteGroup {
    const name = nameOf(input.slot)
    const holders = input.events.map(({ topic }) => topic)
    const slowMs = (): number => this.findSlowMs(holders)
    let openedAt = 0
    const onOpen = (): void => {
      this.#openSlot = name
      openedAt = performance.now()
    }
    const onEnd = (): void => {
      this.#groups.delete(name)
      if (this.#openSlot !== name) return
      this.#openSlot = undefined
      // Before the turn is passed on: others of the same kind may wait for it.
      this.#times.held(holders, performance.now() - openedAt)
    }
    const group = new SqliteGroup({ ...input, slowMs, onOpen, onEnd }, turn)
    this.#groups.set(name, group)
    return group
  }

  /** One for steps, which is open. */
  holdSteps(
    holders: readonly Holder[],
    parts: Omit<HeldTransactionParts, 'slowMs' | 'onEnd'>,
    turn: Turn,
  ): HeldTransaction {
    const openedAt = performance.now()
    const onEnd = (): void => {
      this.#steps = undefined
      this.#times.held(holders, performance.now() - openedAt)
    }
    this.#steps = new HeldTransaction({ ...parts, onEnd }, turn)
    return this.#steps
  }

  async abandonAll(): Promise<void> {
    await Promise.all([...this.#groups.values()].map((group) => group.abandon()))
    await this.#steps?.abandon()
  }
}

function nameOf({ workerId, slot }: WorkerSlot): string {
  return `${workerId} ${slot}`
}
