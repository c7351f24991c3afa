/**
 * The savepoints of one lent transaction: those of `tx.savepoint`, and those that stand for the BEGIN of code
 * that opens transactions itself, where an adapter has asked for that (`tx.asNested()`).
 *
 * They are a stack, as they are in SQL. A handler that opens two side by side, or returns while one is open,
 * fails as a whole: which of its writes belong to which savepoint can then not be told. Of code that opens
 * transactions itself each `tx.asNested()` is one speaker, as a connection would be: COMMIT and ROLLBACK are about what
 * the same speaker has begun, so that a speaker that ends what another has begun is found.
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
  /** Which `tx.asNested()` has sent BEGIN or SAVEPOINT. */
  readonly speaker?: object
  readonly depth: number
  /** As the database knows it. */
  readonly sqlName: string
}

export class Savepoints {
  readonly #runner: SavepointRunner
  readonly #open: Savepoint[] = []
  /** Speakers whose transaction was undone by other code, and that do not know it yet. */
  readonly #undone = new Set<object>()
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
  async control(control: NestedControl, speaker: object): Promise<void> {
    switch (control.verb) {
      case 'begin':
        this.requireWhole(speaker)
        await this.#begin('BEGIN', { speaker })
        return
      case 'commit':
        this.requireWhole(speaker)
        return this.#release(this.#find(speaker, 'BEGIN', 'COMMIT'))
      case 'rollback':
        // What it wants is done already.
        if (this.#undone.delete(speaker)) return
        return this.#undo(this.#find(speaker, 'BEGIN', 'ROLLBACK'), { isKept: false })
      case 'savepoint':
        this.requireWhole(speaker)
        await this.#begin('SAVEPOINT', { speaker, name: control.name })
        return
      case 'release':
        this.requireWhole(speaker)
        return this.#release(this.#find(speaker, 'SAVEPOINT', 'RELEASE', control.name))
      case 'rollback-to':
        this.requireWhole(speaker)
        return this.#undo(this.#find(speaker, 'SAVEPOINT', 'ROLLBACK TO', control.name), {
          isKept: true,
        })
    }
  }

  /**
   * For whatever a speaker sends: after other code has undone its transaction, it would write outside of that.
   *
   * @throws HookonceError with the code TRANSACTION_CONTROL, and the whole handler fails
   */
  requireWhole(speaker: object): void {
    if (!this.#undone.has(speaker)) return
    throw this.#break()
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

  async #begin(
    by: Savepoint['by'],
    whose: Pick<Savepoint, 'speaker' | 'name'> = {},
  ): Promise<Savepoint> {
    if (this.#broken !== undefined) throw this.#broken
    // The depth tells them apart: no two of one depth are open at once.
    const depth = (this.#open.at(-1)?.depth ?? 0) + 1
    const sqlName = `"hookonce_handler_${depth}"`
    const savepoint: Savepoint = { by, depth, sqlName, ...whose }
    this.#open.push(savepoint)
    try {
      await this.#runner.run(`savepoint ${sqlName}`)
    } catch (error) {
      this.#close(this.#listWith(savepoint))
      throw error
    }
    return savepoint
  }

  async #release(savepoint: Savepoint): Promise<void> {
    this.#requireWithin(savepoint, ['SAVEPOINT'])
    const ending = this.#listWith(savepoint)
    await this.#runner.run(`release savepoint ${savepoint.sqlName}`)
    this.#close(ending)
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
    const ending = this.#listWith(savepoint)
    this.#tellUndone(savepoint, ending)
    this.#runner.dropWrites()
    const release = isKept ? '' : `; release savepoint ${sqlName}`
    await this.#runner.run(`rollback to savepoint ${sqlName}${release}`)
    this.#close(isKept ? ending.slice(1) : ending)
  }

  /**
   * What one speaker rolls back takes what another one has begun in it along, and so does a function of
   * `tx.savepoint`: it may throw, by `Promise.all` for instance, while a library's transaction in it goes on.
   */
  #tellUndone({ speaker }: Savepoint, ending: readonly Savepoint[]): void {
    for (const { speaker: other } of ending)
      if (other !== undefined && other !== speaker) this.#undone.add(other)
  }

  /** With a savepoint SQL ends those within it. Of another function, which still runs, it must not. */
  #requireWithin(savepoint: Savepoint, allowed: readonly Savepoint['by'][]): void {
    const { speaker } = savepoint
    const [found, ...within] = this.#listWith(savepoint)
    const isAlone = within.every(
      (other) => allowed.includes(other.by) && (speaker === undefined || other.speaker === speaker),
    )
    if (found !== undefined && isAlone && this.#broken === undefined) return
    throw this.#break()
  }

  #break(): HookonceError {
    this.#broken ??= new HookonceError(
      'TRANSACTION_CONTROL',
      'Two savepoints, or nested transactions, of one handler were open side by side. Wait for the end of one before the next is begun',
    )
    return this.#broken
  }

  /** The innermost of its kind. Code ends what it has opened itself, and nothing around that. */
  #find(speaker: object, by: 'BEGIN' | 'SAVEPOINT', keyword: string, name?: string): Savepoint {
    for (const savepoint of this.#open.toReversed()) {
      if (savepoint.by === 'savepoint()') break
      if (savepoint.speaker !== speaker) continue
      if (savepoint.by === by && savepoint.name === name) return savepoint
      if (savepoint.by === 'BEGIN') break
    }
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `${keyword} has no ${by} of its own here: the handler's transaction is ended by hookonce`,
    )
  }

  /** It and those within it; none where it has ended. What is begun later is not among them. */
  #listWith(savepoint: Savepoint): readonly Savepoint[] {
    const at = this.#open.indexOf(savepoint)
    return at < 0 ? [] : this.#open.slice(at)
  }

  #close(ended: readonly Savepoint[]): void {
    for (const savepoint of ended) {
      const at = this.#open.indexOf(savepoint)
      if (at >= 0) this.#open.splice(at, 1)
    }
  }
}
