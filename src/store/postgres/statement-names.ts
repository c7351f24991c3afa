/**
 * Names for the statements that handlers repeat, so that PostgreSQL parses and plans them once for each
 * connection instead of once for each event.
 *
 * Measured with one insert for each event in transactions of 200: 13,300 events a second unnamed, 17,400
 * named, on a busy machine.
 *
 * Only for a connection whose other end is shown to be one and the same backend: a transaction pooler
 * would run the next transaction elsewhere, where the name is unknown. And only in groups: where
 * a name turns out to be worth nothing (a pooler said DISCARD ALL, a table changed under a `select *`),
 * the group runs again without, and no attempt is lost.
 *
 * Only PostgreSQL: SQLite keeps what it has prepared for as long as a connection lives (`connection.ts`).
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { findSqlState } from './store-error.ts'

/** What is said less often costs more to keep than to parse. */
const USES_MIN = 5
/** The server keeps each of them for every connection. */
const NAMES_MAX = 100
const TEXTS_MAX = 1_000
/** A text with its values in it is said once; a thousand of a megabyte each are not to be kept for that. */
export const TEXT_LENGTH_MAX = 10_000

export class StatementNames {
  readonly #uses = new Map<string, number>()
  readonly #names = new Map<string, string>()
  readonly #refused = new Set<string>()
  #isOff = false

  /** The name of a statement that is said often enough to have one. Counts this use. */
  find(text: string): string | undefined {
    if (this.#isOff || text.length > TEXT_LENGTH_MAX) return undefined
    const name = this.#names.get(text)
    if (name !== undefined) return name
    if (this.#names.size >= NAMES_MAX || this.#refused.has(text)) return undefined
    const uses = (this.#uses.get(text) ?? 0) + 1
    // Texts that are put together anew each time would fill it.
    if (this.#uses.size >= TEXTS_MAX) this.#uses.clear()
    this.#uses.set(text, uses)
    if (uses < USES_MIN) return undefined
    this.#uses.delete(text)
    const made = nameOf(text)
    this.#names.set(text, made)
    return made
  }

  /** After a statement with a name has failed. Where that was for its name, it has none from now on. Says whether it was. */
  refuse(text: string, error: unknown): boolean {
    const state = findSqlState(error)
    if (state === PLAN_OUTDATED) {
      this.#names.delete(text)
      if (this.#refused.size < TEXTS_MAX) this.#refused.add(text)
    }
    // A pooler or a handler drops names behind our back, and will do so again.
    if (state === NAME_UNKNOWN || state === NAME_TAKEN) this.#isOff = true
    return state === PLAN_OUTDATED || state === NAME_UNKNOWN || state === NAME_TAKEN
  }
}

/** "cached plan must not change result type" */
const PLAN_OUTDATED = '0A000'
const NAME_UNKNOWN = '26000'
const NAME_TAKEN = '42P05'

/** From the text, since two stores may share a pool and with it the connections. */
function nameOf(text: string): string {
  return `hookonce_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}
