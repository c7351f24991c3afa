import type { WorkerSlot } from '../contract/workers.ts'
import { SqliteGroup } from './group.ts'
import type { GroupInput } from './group.ts'
import { HeldTransaction } from './held-transaction.ts'
import type { HeldTransactionParts } from './held-transaction.ts'
import type { Turn } from './turn.ts'

/** The transactions of a store that are lent to handlers now. At most one of them is open: there is one writer. */
export class HeldTransactions {
  /** By slot; one that opens late may have no transaction yet. */
  readonly #groups = new Map<string, SqliteGroup>()
  /** The slot whose group has its transaction open. */
  #openSlot: string | undefined
  #steps: HeldTransaction | undefined

  /** Whether one is open, so that nothing else can be written. */
  isOpen(): boolean {
    return this.#openSlot !== undefined || this.#steps !== undefined
  }

  hasGroup(slot: WorkerSlot): boolean {
    return this.#groups.has(nameOf(slot))
  }

  holdGroup(input: Omit<GroupInput, 'onOpen' | 'onEnd'>, turn?: Turn): SqliteGroup {
    const name = nameOf(input.slot)
    const onOpen = (): void => void (this.#openSlot = name)
    const onEnd = (): void => {
      this.#groups.delete(name)
      if (this.#openSlot === name) this.#openSlot = undefined
    }
    const group = new SqliteGroup({ ...input, onOpen, onEnd }, turn)
    this.#groups.set(name, group)
    return group
  }

  /** One for steps, which is open. */
  holdSteps(parts: Omit<HeldTransactionParts, 'onEnd'>, turn: Turn): HeldTransaction {
    const onEnd = (): void => void (this.#steps = undefined)
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
