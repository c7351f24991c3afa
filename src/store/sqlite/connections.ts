/**
 * The connections a store works with: the writer, with a queue in front of it, and the reader.
 *
 * Both are the store's own. On a handle shared with the user's code another route's write was seen to
 * vanish with our rollback. With the log in WAL mode the reader sees the last commit and waits for
 * no writer, which is how a duplicate is answered while a handler's transaction is open.
 *
 * @module
 */

import { resolve } from 'node:path'
import { StoreUnavailableError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import type { SqliteDriver } from './driver.ts'
import { FileWatch } from './file-watch.ts'
import { checkSchema, migrate } from './migrate.ts'
import { openConnection, requireWal } from './open-connection.ts'
import { openDriver } from './open-driver.ts'
import type { ResolvedSqliteStoreOptions } from './options.ts'
import { ASK_LIBRARY } from './require-same-library.ts'
import { RunningLists } from './running-lists.ts'
import { isBusy, asStoreError } from './store-error.ts'
import type { Work } from './turn.ts'
import { Writer } from './writer.ts'

/** What there is while the store is open. */
export interface OpenFile {
  readonly writer: Writer
  readonly lists: RunningLists
  readonly reader: Connection
}

/** The pause between two tries to bring a lost log into the database file, while others read from it. */
const RESCUE_MS = 100

/** A small table, which is one page. */
const CLOCK_PAGE = `select rootpage as page from sqlite_schema where name = '{prefix}meta'`

export class Connections {
  readonly #file: string
  readonly #options: ResolvedSqliteStoreOptions
  #opened: OpenFile | undefined
  #driver: SqliteDriver | undefined
  /** There is none before the schema is there. */
  #files: FileWatch | undefined
  #isRescuing = false

  constructor(file: string, options: ResolvedSqliteStoreOptions) {
    this.#file = file
    this.#options = options
  }

  /** Makes the file if it is not there, and its tables, or checks that they are there. */
  async open(): Promise<void> {
    if (this.#opened !== undefined) return
    const driver = await openDriver(this.#options.driver, this.#options.libsqlFolder)
    this.#driver = driver
    try {
      await this.#openWith(driver)
    } catch (error) {
      throw this.#named(error)
    }
  }

  async #openWith(driver: SqliteDriver): Promise<void> {
    const reader = await this.#connect(driver)
    try {
      const writer = new Writer(await this.#connect(driver), () => this.checkFiles())
      const lists = new RunningLists(writer, this.#options.writeWaitMs)
      const opened = { writer, lists, reader }
      await this.#prepareSchema(opened).catch(async (error: unknown) => {
        await writer.close(async () => {})
        throw error
      })
      const [clock] = reader.all<{ page: number }>(CLOCK_PAGE)
      this.#files = new FileWatch(resolve(this.#file), clock?.page)
      this.#opened = opened
    } catch (error) {
      reader.close()
      throw error
    }
  }

  /** Refuses further writes, has `abandonHeld` end the transaction that is open, and closes. */
  async close(abandonHeld: () => Promise<void>): Promise<void> {
    const opened = this.#opened
    if (opened === undefined) return
    this.#opened = undefined
    opened.writer.refuseAll()
    await abandonHeld()
    await opened.writer.close((turn) => opened.lists.close(turn))
    opened.reader.close()
    this.#files?.close()
    this.#files = undefined
  }

  /** @throws StoreUnavailableError when the store is not open, or its files were seen to be changed */
  getOpen(): OpenFile {
    if (this.#opened === undefined) throw new StoreUnavailableError('The store is not open')
    this.#files?.assert()
    return this.#opened
  }

  /** Which SQLite has the file open; none before the store is. */
  findLibrary(): string | undefined {
    const [row] = this.#opened?.reader.all<{ source: string }>(ASK_LIBRARY) ?? []
    return row?.source
  }

  /** No answer for what went into a file that cannot be opened again. @throws StoreUnavailableError */
  checkFiles(): void {
    try {
      this.#files?.check()
    } catch (error) {
      if (this.#files?.isLogOrphaned === true && !this.#isRescuing) void this.#rescue()
      throw error
    }
  }

  /**
   * Brings what was committed from a log that has lost its name into the database file. Else it would be gone when
   * the last process that has the log open is, unless that process ends in good order.
   */
  async #rescue(): Promise<void> {
    const writer = this.#opened?.writer
    this.#isRescuing = true
    for (let isBusy = true; isBusy && writer?.isClosed() === false;) {
      const turn = await writer.acquire(Infinity).catch(() => undefined)
      isBusy = turn !== undefined && !tryCheckpoint(turn.connection)
      turn?.giveBack()
      await new Promise((done) => setTimeout(done, RESCUE_MS).unref())
    }
  }

  async write<Result>(how: 'durably' | 'lazily', work: Work<Result>): Promise<Result> {
    const { writer } = this.getOpen()
    return writer.transact({ waitMs: this.#options.writeWaitMs, durable: how === 'durably' }, work)
  }

  /** The writer, and until when a caller that comes now may wait for it. */
  getWriter(): { readonly writer: Writer; readonly deadline: number } {
    const { writer } = this.getOpen()
    return { writer, deadline: performance.now() + this.#options.writeWaitMs }
  }

  /** One snapshot for all of `work`, so that a record is never put together from two states. */
  async read<Result>(work: (reader: Connection) => Result): Promise<Result> {
    const { reader } = this.getOpen()
    return this.#patiently(() => {
      reader.execute('begin')
      try {
        return work(reader)
      } finally {
        if (reader.inTransaction()) reader.execute('commit')
      }
    })
  }

  /** A connection of its own, in a transaction in which nothing can be written. The caller closes it. */
  async openReading(): Promise<Connection> {
    this.getOpen()
    const file = { file: this.#file, prefix: this.#options.prefix }
    // The log was set up when the store was opened. To ask for it again would be to wait for the writer.
    const connection = openConnection(this.#driver as SqliteDriver, file)
    try {
      connection.execute('pragma query_only = on')
      connection.execute('begin')
      return connection
    } catch (error) {
      connection.close()
      throw asStoreError(error)
    }
  }

  /** What cannot be opened is said with its name: "file is not a database" alone says nothing. */
  #named(error: unknown): unknown {
    if (!(error instanceof StoreUnavailableError) || error.message.includes(this.#file))
      return error
    return new StoreUnavailableError(`Cannot use ${this.#file}: ${error.message}`, { cause: error })
  }

  async #connect(driver: SqliteDriver): Promise<Connection> {
    const connection = openConnection(driver, { file: this.#file, prefix: this.#options.prefix })
    try {
      await this.#patiently(() => requireWal(connection))
      connection.execute('pragma synchronous = full')
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  async #prepareSchema({ reader, writer }: OpenFile): Promise<void> {
    const { writeWaitMs } = this.#options
    if (this.#options.migrate === 'auto') await migrate(reader, writer, writeWaitMs)
    await this.#patiently(() => checkSchema(reader))
  }

  /** Readers do not wait in WAL mode, except for the moments in which the log is set up or recovered. */
  async #patiently<Result>(work: () => Result): Promise<Result> {
    const deadline = performance.now() + this.#options.writeWaitMs
    for (;;) {
      try {
        return work()
      } catch (error) {
        if (!isBusy(error)) this.checkFiles()
        if (!isBusy(error) || performance.now() >= deadline) throw asStoreError(error)
      }
      await new Promise((done) => setTimeout(done, 1 + Math.random() * 10))
    }
  }
}

/** Whether all of the log is in the database file now. */
function tryCheckpoint(connection: Connection): boolean {
  try {
    return connection.all<{ busy: number }>('pragma wal_checkpoint(full)')[0]?.busy === 0
  } catch {
    return false
  }
}
