/**
 * What handlers leave behind on their connection, so that it reaches no other event and no other user of the pool.
 *
 * The session is read before a transaction that is lent begins and after it has ended, each time in the round trip
 * that is made anyway. What differs then is a handler's doing, and the connection is closed: `DISCARD ALL` would
 * also take what the pool's owner has set up. Session locks need no look; they are freed. Between two events of
 * one transaction it is read as well (`findTraces`), since settings, temporary tables and cursors are there for the
 * next one at once.
 *
 * The list of all settings is too dear to be read each time. It is read when a connection is first used, when the
 * text of a statement does not tell what it does (`unknown-code.ts`), and always once a setting was found that no
 * text had told of: a trigger's, or one that other code makes on connections of the pool.
 *
 * Only PostgreSQL: on SQLite handlers can leave only temporary objects (`temporary-objects.ts`).
 *
 * @module
 */

import type { Connection, LastLook, TextRow } from './connection.ts'
import type { PgPoolClient, PgResult } from './driver.ts'
import { LocalSettings } from './local-settings.ts'
import type { SettingChange } from './setting-change.ts'
import {
  listHazards,
  listSettingNames,
  lookAtSession,
  lookLast,
  TRACES,
} from './sql/session-state.ts'
import type { SessionLook, State, Trace } from './sql/session-state.ts'
import type { Statement } from './statement-batch.ts'
import { findSqlState } from './store-error.ts'
import { BEGIN, setLimits } from './transaction.ts'
import type { TransactionSettings } from './transaction.ts'

/** What a text tells of a statement. */
export interface Told {
  readonly settings: readonly SettingChange[]
  /** Whether it may do what the text does not tell. */
  readonly isUnknown: boolean
  /** Settings of the user's own that it names. */
  readonly names: readonly string[]
}

/** How long it takes at most until a function that is new is known. */
const NAMES_FOR_MS = 10_000
/** A text with its values in it may name anything. */
const NAMES_MAX = 500

/** Begins the transactions of one store, and remembers what it has seen. */
export class SessionWatcher {
  readonly #settings = new WeakMap<PgPoolClient, string>()
  readonly #names = new Set<string>()
  #hazards: ReadonlyMap<string, string> = new Map()
  #namesReadAt = -Infinity
  #isWary = false

  /**
   * Begins a transaction that will be lent, and hands on what `opening` was answered in it. The session is read
   * before our own settings are made.
   */
  async begin(
    connection: Connection,
    settings: TransactionSettings,
    opening: Statement,
  ): Promise<{ readonly watch: SessionWatch; readonly opened: PgResult<TextRow> | undefined }> {
    const inFull = this.#isWary || !this.#settings.has(connection.client)
    if (inFull) await this.readNames(connection)
    const look = lookAtSession(this.lookFor(inFull))
    const limits = setLimits(connection, settings)
    const results = await connection.runTogether([BEGIN, look, limits, opening])
    const before = stateText(results[1])
    return { watch: new SessionWatch(connection, this, { before, inFull }), opened: results[3] }
  }

  lookFor(inFull: boolean): SessionLook {
    return { inFull, names: this.#names }
  }

  /** How all settings of a client were when a handler had left them as they were. */
  lastOf(client: PgPoolClient): string {
    return this.#settings.get(client) ?? ''
  }

  keepLast(client: PgPoolClient, settings: string): void {
    this.#settings.set(client, settings)
  }

  /** From now on all settings are read before every transaction. */
  beWary(): void {
    this.#isWary = true
  }

  addNames(names: readonly string[]): void {
    for (const name of names) {
      if (this.#names.size < NAMES_MAX && !name.startsWith('hookonce.')) this.#names.add(name)
    }
  }

  async readNames(connection: Connection): Promise<void> {
    if (performance.now() - this.#namesReadAt < NAMES_FOR_MS) return
    this.#namesReadAt = performance.now()
    this.addNames(await listSettingNames(connection))
    this.#hazards = await listHazards(connection)
  }

  /** What the functions and triggers that a text names may do. In nearly every database there is no such thing. */
  findHazard(sql: string): string | undefined {
    if (this.#hazards.size === 0) return undefined
    const words = sql.toLowerCase().match(/[\w$\u0080-\uffff]+/g)
    const name = words?.find((word) => this.#hazards.has(word))
    return name === undefined ? undefined : `${this.#hazards.get(name) ?? ''}, by ${name},`
  }
}

/** The looks at the session of one transaction. */
export class SessionWatch implements LastLook {
  readonly local: LocalSettings
  readonly #connection: Connection
  readonly #watcher: SessionWatcher
  readonly #before: string
  #inFull: boolean
  /** All settings, as they were before. */
  #settings: string
  #preparation: 'none' | 'names' | 'names and settings' = 'none'

  constructor(
    connection: Connection,
    watcher: SessionWatcher,
    { before, inFull }: { before: string; inFull: boolean },
  ) {
    this.#connection = connection
    this.#watcher = watcher
    this.#before = before
    this.#inFull = inFull
    this.#settings = inFull ? stateOf(before).settings : watcher.lastOf(connection.client)
    this.local = new LocalSettings(connection, () => stateOf(before))
  }

  /** What is about to be sent. `isAlone`: by the one event that has the transaction. */
  note({ settings, isUnknown, names }: Told, isAlone: boolean): void {
    if (settings.length > 0 || isUnknown) this.local.note()
    if (!isUnknown) return
    this.#watcher.addNames(names)
    if (this.#inFull) return
    this.#inFull = true
    // Alone, it may have made settings of its own by now, and what was last read of this client has to do.
    this.#preparation = isAlone ? 'names' : 'names and settings'
  }

  /** What would reach the next event of a group and be seen by no look, in words. */
  findHazard(sql: string): string | undefined {
    return this.#watcher.findHazard(sql)
  }

  /** To be awaited before what was noted is sent; nearly always there is nothing to be done. */
  prepare(): Promise<void> | undefined {
    return this.#preparation === 'none' ? undefined : this.#prepare()
  }

  async #prepare(): Promise<void> {
    const preparation = this.#preparation
    this.#preparation = 'none'
    await this.#watcher.readNames(this.#connection)
    if (preparation === 'names and settings') this.#settings = stateOf(await this.#read()).settings
  }

  /** What another event in this transaction would meet, in words; `undefined` when there is nothing. */
  async findTraces(): Promise<string | undefined> {
    let now: string
    try {
      now = await this.#read()
    } catch (error) {
      // What was left keeps us from looking: a role without rights, for instance.
      if (findSqlState(error) === undefined || this.#connection.isLost) throw error
      return (error as Error).message
    }
    const before = { ...stateOf(this.#before), ...IN_TRANSACTION }
    return this.#compare(before, now, NOT_COMPARED)
  }

  /** What is asked when the transaction has ended. */
  get lastLook(): Statement {
    return lookLast(this.#watcher.lookFor(this.#inFull))
  }

  /** By the answer to it: gives the connection back, or closes it where something was left. */
  leave(answer: PgResult | undefined): void {
    const now = answer === undefined ? undefined : stateText(answer)
    if (now === undefined || !this.#isClean(now)) return this.#connection.destroy()
    if (this.#inFull) this.#watcher.keepLast(this.#connection.client, stateOf(now).settings)
    this.#connection.returnToPool()
  }

  #isClean(now: string): boolean {
    return now === this.#before || this.#compare(stateOf(this.#before), now) === undefined
  }

  async #read(): Promise<string> {
    const look = lookAtSession(this.#watcher.lookFor(this.#inFull))
    return stateText((await this.#connection.runTogether([look]))[0])
  }

  #compare(before: State, text: string, except: readonly Trace[] = []): string | undefined {
    const now = stateOf(text)
    const found: string[] = BRIEF.filter(
      (trace) => before[trace] !== now[trace] && !except.includes(trace),
    )
    if (this.#inFull) {
      const settings = listDifferent(this.#settings, now.settings)
      if (settings.length > 0) this.#watcher.beWary()
      found.push(...settings)
    }
    return found.length === 0 ? undefined : [...new Set(found)].join(', ')
  }
}

/** All that is read each time. */
const BRIEF = TRACES.filter((trace) => trace !== 'settings')
/** What `setLimits` sets. */
const IN_TRANSACTION = { statement_timeout: '0', synchronous_commit: 'on' } as const
/** Limits of ours, which follow from the handlers. */
const NOT_COMPARED: readonly Trace[] = [
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'transaction_timeout',
]

function stateText(result: PgResult | undefined): string {
  return String(result?.rows[0]?.['state'])
}

function stateOf(text: string): State {
  const lines = text.split('\n')
  return Object.fromEntries(TRACES.map((trace, at) => [trace, lines[at] ?? ''])) as State
}

/** The names of settings that differ, of two lists in JSON. */
function listDifferent(before: string, now: string): readonly string[] {
  if (before === now) return []
  const [left, right] = [before, now].map((text) => parseSettings(text)) as [Settings, Settings]
  return Object.keys({ ...left, ...right }).filter(
    (name) => (left[name] ?? '') !== (right[name] ?? ''),
  )
}

type Settings = Readonly<Record<string, string | null>>

function parseSettings(text: string): Settings {
  return text === '' ? {} : (JSON.parse(text) as Settings)
}
