/**
 * The transaction of a group, which may be opened late: when a handler uses `tx`, or to settle.
 *
 * Savepoints that are set before it is open are made when it is. Once it has ended it cannot be opened.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { HeldTransaction } from './held-transaction.ts'
import type { Turn } from './turn.ts'
import type { Writer } from './writer.ts'

export interface GroupTransactionInput {
  readonly writer: Writer
  readonly idleTimeoutMs: number
  /** Called in the transaction when it has begun late; throws if it may not go on. */
  readonly check: (connection: Connection) => void
  readonly onOpen: () => void
  readonly onIdle: () => void
}

export class GroupTransaction {
  readonly #input: GroupTransactionInput
  #marks: string[] = []
  #opening: Promise<void> | undefined
  #held: HeldTransaction | undefined
  #hasEnded = false
  #isLost = false

  /** With a turn that has begun and checked, it is open from the start. */
  constructor(input: GroupTransactionInput, turn?: Turn) {
    this.#input = input
    if (turn !== undefined) this.#hold(turn)
  }

  status(): 'open' | 'ended' | 'lost' {
    if (this.#held !== undefined) return this.#held.status()
    if (this.#isLost) return 'lost'
    return this.#hasEnded ? 'ended' : 'open'
  }

  get isOpen(): boolean {
    return this.#held !== undefined
  }

  /** Opens it if nothing is in the way, and says whether it is open. Throws if it cannot be opened any more. */
  openNow(): boolean {
    this.#requireOpenable()
    if (this.#held !== undefined) return true
    if (this.#opening !== undefined) return false
    const turn = this.#input.writer.tryAcquire()
    if (turn === undefined) return false
    return this.#holdIf(turn, () => turn.tryBegin())
  }

  /** Waits for the writer as long as it takes: those in front of it have time limits of their own. */
  async open(): Promise<void> {
    if (this.openNow()) return
    this.#opening ??= this.#openInTurn()
    await this.#opening
  }

  use<Result>(work: (connection: Connection) => Result): Result {
    this.#requireOpenable()
    if (this.#held === undefined) throw new Error('The transaction is not open yet')
    return this.#held.use(work)
  }

  setMark(mark: string): void {
    if (this.#held === undefined) this.#marks.push(mark)
    else this.use((connection) => connection.execute(`savepoint ${mark}`))
  }

  rollbackTo(mark: string): void {
    if (this.#held === undefined) this.#marks = [...this.#marksBefore(mark), mark]
    else this.use((connection) => connection.execute(`rollback to ${mark}`))
  }

  releaseMark(mark: string): void {
    if (this.#held === undefined) this.#marks = this.#marksBefore(mark)
    else this.use((connection) => connection.execute(`release ${mark}`))
  }

  /** Commits what is open, after `last`. The turn is left to be given back. */
  commit(last: (connection: Connection) => void): Turn {
    this.#requireOpenable()
    if (this.#held === undefined) throw new Error('The transaction is not open yet')
    const turn = this.#held.commit(last)
    this.#hasEnded = true
    return turn
  }

  /** Ends it, opened or not. A turn that it had is left to be given back. */
  rollback(): Turn | undefined {
    this.#hasEnded = true
    return this.#held?.rollback()
  }

  async #openInTurn(): Promise<void> {
    try {
      const turn = await this.#input.writer.acquire(Infinity)
      await turn.begin(Infinity).catch((error: unknown) => {
        turn.release()
        throw error
      })
      this.#holdIf(turn, () => true)
    } catch (error) {
      this.#fail()
      throw error
    }
  }

  #holdIf(turn: Turn, begin: () => boolean): boolean {
    try {
      if (!begin()) {
        turn.release()
        return false
      }
      this.#requireOpenable()
      this.#input.check(turn.connection)
      this.#hold(turn)
      return true
    } catch (error) {
      turn.release()
      this.#fail()
      throw error
    }
  }

  /** What could not be opened is not tried again: its handler has been told. */
  #fail(): void {
    this.#isLost = !this.#hasEnded
  }

  #hold(turn: Turn): void {
    for (const mark of this.#marks) turn.connection.execute(`savepoint ${mark}`)
    this.#held = new HeldTransaction(turn, this.#input)
    this.#input.onOpen()
  }

  #requireOpenable(): void {
    if (!this.#hasEnded && !this.#isLost) return
    throw new HookonceError(
      'TRANSACTION_ENDED',
      'The transaction that claimed these events has ended',
    )
  }

  #marksBefore(mark: string): string[] {
    this.#requireOpenable()
    const place = this.#marks.lastIndexOf(mark)
    if (place === -1) throw new Error(`There is no savepoint ${mark}`)
    return this.#marks.slice(0, place)
  }
}
