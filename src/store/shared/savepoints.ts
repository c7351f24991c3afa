/**
 * The savepoints of one lent transaction: those of `tx.savepoint`, and those that stand for the BEGIN of code
 * that opens transactions itself, where an adapter has asked for that (`tx.asNested()`).
 *
 * They are a stack, as they are in SQL. A handler that opens two side by side, or returns while one is open,
 * fails as a whole: which of its writes belong to which savepoint can then not be told.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { NestedControl } from './nested-control.ts'

export interface SavepointRunner {
  /** Runs statements of ours, after all that the handler has sent before. Throws once the transaction is revoked. */
  run(sql: string): Promise<void>
  /** Forgets what was written and is not sent yet: it is rolled back. */
  dropWrites(): void
}

interface Savepoint {
  /** What opened it, and may end it. */
  readonly by: 'savepoint()' | 'BEGIN' | 'SAVEPOINT'
  /** As the handler's code calls it, after SAVEPOINT. */
  readonly name?: string
  /** As the database knows it. */
  readonly sqlName: string
}

export class Savepoints {
  readonly #runner: SavepointRunner
  readonly #open: Savepoint[] = []
  #broken: HookonceError | undefined

  constructor(runner: SavepointRunner) {
    this.#runner = runner
  }

  /** Runs `work` behind a savepoint. What it throws undoes it, and is thrown on. */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const savepoint = await this.#begin('savepoint()')
    try {
      const result = await work()
      await this.#release(savepoint)
      return result
    } catch (error) {
      await this.#rollBack(savepoint)
      throw error
    }
  }

  /** Does to a savepoint what code that opens transactions itself wants done to its transaction. */
  async control(control: NestedControl): Promise<void> {
    switch (control.verb) {
      case 'begin':
        await this.#begin('BEGIN')
        return
      case 'commit':
        return this.#release(this.#find('BEGIN', 'COMMIT'))
      case 'rollback':
        return this.#undo(this.#find('BEGIN', 'ROLLBACK'), { isKept: false })
      case 'savepoint':
        await this.#begin('SAVEPOINT', control.name)
        return
      case 'release':
        return this.#release(this.#find('SAVEPOINT', 'RELEASE', control.name))
      case 'rollback-to':
        return this.#undo(this.#find('SAVEPOINT', 'ROLLBACK TO', control.name), { isKept: true })
    }
  }

  /** @throws HookonceError with the code TRANSACTION_CONTROL when a savepoint is open, or two were side by side */
  requireClosed(): void {
    if (this.#broken !== undefined) throw this.#broken
    const last = this.#open.at(-1)
    if (last === undefined) return
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `The handler returned while a savepoint (${last.by}) was open. Is an await missing?`,
    )
  }

  async #begin(by: Savepoint['by'], name?: string): Promise<Savepoint> {
    if (this.#broken !== undefined) throw this.#broken
    // The depth tells them apart: no two of one depth are open at once.
    const sqlName = `"hookonce_handler_${this.#open.length + 1}"`
    const savepoint: Savepoint = { by, sqlName, ...(name !== undefined && { name }) }
    this.#open.push(savepoint)
    try {
      await this.#runner.run(`savepoint ${sqlName}`)
    } catch (error) {
      this.#close(savepoint)
      throw error
    }
    return savepoint
  }

  async #release(savepoint: Savepoint): Promise<void> {
    this.#requireWithin(savepoint, ['SAVEPOINT'])
    await this.#runner.run(`release savepoint ${savepoint.sqlName}`)
    this.#close(savepoint)
  }

  /** For `run`, which has an error to throw already. */
  async #rollBack(savepoint: Savepoint): Promise<void> {
    // Two that were side by side: the whole handler is undone.
    if (this.#broken !== undefined) return
    try {
      this.#requireWithin(savepoint, ['SAVEPOINT', 'BEGIN'])
      await this.#undo(savepoint, { isKept: false })
    } catch (error) {
      this.#broken ??= new HookonceError(
        'TRANSACTION_ENDED',
        'What a savepoint had to undo could not be undone',
        { cause: error },
      )
    }
  }

  async #undo(savepoint: Savepoint, { isKept }: { readonly isKept: boolean }): Promise<void> {
    const { sqlName } = savepoint
    this.#runner.dropWrites()
    const release = isKept ? '' : `; release savepoint ${sqlName}`
    await this.#runner.run(`rollback to savepoint ${sqlName}${release}`)
    this.#close(savepoint)
    if (isKept) this.#open.push(savepoint)
  }

  /** With a savepoint SQL ends those within it. Of another function, which still runs, it must not. */
  #requireWithin(savepoint: Savepoint, allowed: readonly Savepoint['by'][]): void {
    const at = this.#open.indexOf(savepoint)
    const isAlone = at >= 0 && this.#open.slice(at + 1).every(({ by }) => allowed.includes(by))
    if (isAlone && this.#broken === undefined) return
    this.#broken ??= new HookonceError(
      'TRANSACTION_CONTROL',
      'Two savepoints of one handler were open side by side. Wait for the end of one before the next is begun',
    )
    throw this.#broken
  }

  /** The innermost of its kind. Code ends what it has opened itself, and nothing around that. */
  #find(by: 'BEGIN' | 'SAVEPOINT', keyword: string, name?: string): Savepoint {
    for (const savepoint of this.#open.toReversed()) {
      if (savepoint.by === by && savepoint.name === name) return savepoint
      if (savepoint.by === 'savepoint()' || savepoint.by === 'BEGIN') break
    }
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `${keyword} has no ${by} of its own here: the handler's transaction is ended by hookonce`,
    )
  }

  #close(savepoint: Savepoint): void {
    const at = this.#open.indexOf(savepoint)
    if (at >= 0) this.#open.splice(at)
  }
}
