/**
 * Watches the files of an open database: the database file, its log (`-wal`) and its shared memory (`-shm`).
 *
 * SQLite goes on taking commits when they are deleted, replaced, cut or overwritten under it, and those
 * commits are lost. It cannot notice, so the files are looked at after every commit that must last, before
 * it is reported. A look finds
 *
 * - a file that was deleted or replaced: its name stands for another file, or for none;
 * - a database file that was overwritten or cut: its header or one of a few pages is another, or it is shorter,
 *   although no checkpoint has written to it. In WAL mode nothing else of SQLite's does (`watched-pages.ts`);
 * - a log that was cut or overwritten: its beginning is not in it, or a frame that was committed since the look
 *   before.
 *
 * It does not find what leaves the header of the database file and those pages as they were and the file no shorter.
 * Times of files say nothing here: a `touch` changes them, and some file systems do by themselves.
 *
 * A look is synchronous: the way through the thread pool would cost many times what it does.
 *
 * Only SQLite: what becomes of the files of a server is its own to see.
 *
 * @module
 */

import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { StoreFileChangedError } from '../../errors.ts'
import { LastingFile } from './lasting-file.ts'
import { WatchedPages } from './watched-pages.ts'
import { readWalIndex } from './wal-index.ts'
import type { WalIndex } from './wal-index.ts'

const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** Where another process writes without a pause, the next commit is soon enough for the next look. */
const LOOKS_MAX = 100

const RESTART = 'Restart every process that uses the database.'
const RESTORE =
  'Stop every process that uses the database. Then put the file that shall be used in its place once more, ' +
  'without the -wal and -shm of another, and start again.'

/** What a look has found: the database file, and the index of the log before and after the file was read. */
interface Look {
  readonly size: bigint
  /** Of the pages that are watched; `undefined` when others are watched since. */
  readonly content: Buffer | undefined
  readonly before: WalIndex | undefined
  readonly after: WalIndex | undefined
}

export class FileWatch {
  readonly #file: string
  readonly #logFile: string
  readonly #identities: ReadonlyMap<string, string>
  readonly #database: LastingFile | undefined
  readonly #sharedMemory: LastingFile | undefined
  readonly #log: number | undefined
  readonly #pages: WatchedPages
  #last: Look | undefined
  #changed: string | undefined
  #isLogOrphaned = false

  /**
   * For a file that is open, and that a connection has read: its log is there.
   *
   * @param clockPage - in which the store keeps its time
   */
  constructor(file: string, clockPage?: number) {
    this.#file = file
    this.#pages = new WatchedPages(clockPage)
    // SQLite follows a link, and has the others beside the file that it leads to.
    const path = realpathSync(file)
    this.#logFile = `${path}-wal`
    const files = [file, this.#logFile, `${path}-shm`]
    this.#identities = new Map(files.map((name) => [name, see(name)?.identity ?? 'none']))
    this.#database = LastingFile.open(path)
    this.#sharedMemory = LastingFile.open(`${path}-shm`)
    this.#log = attempt(() => openSync(this.#logFile, 'r'))
    this.#changed = this.#look()
  }

  /**
   * Whether the log has lost its name, and nothing has taken it: what was committed can then be brought into the
   * database file, by the processes that have the log open. Where there is another log already, another process may be
   * at work with it.
   */
  get isLogOrphaned(): boolean {
    return this.#isLogOrphaned
  }

  /** Looks, and throws if the files are not what they were. From then on `assert` throws as well. */
  check(): void {
    this.#changed ??= this.#look()
    this.assert()
  }

  /** Throws if an earlier look found a change. */
  assert(): void {
    if (this.#changed === undefined) return
    throw new StoreFileChangedError(this.#changed)
  }

  /** SQLite has no locks on the log, so that closing it takes none away. */
  close(): void {
    if (this.#log !== undefined) closeSync(this.#log)
  }

  /** Says what has changed. */
  #look(tries = 1): string | undefined {
    const before = this.#readIndex()
    const content = this.#database && this.#pages.read(this.#database)
    const database = see(this.#file)
    const after = this.#readIndex()
    if (database === undefined || database.identity !== this.#identities.get(this.#file))
      return describe(`The database file ${this.#file} was deleted or replaced`, RESTORE)
    const look = { size: database.size, content, before, after }
    if (this.#isOverwritten(look))
      return describe(`The database file ${this.#file} was overwritten`, RESTORE)
    const renamed = this.#findRenamed()
    if (renamed !== undefined) {
      this.#isLogOrphaned = see(this.#logFile) === undefined
      return describe(`${renamed} was deleted or replaced`, RESTART)
    }
    if (after !== undefined && !this.#isLogWhole(after)) {
      if (this.#isStill(after))
        return describe(`The log ${this.#logFile} was cut or overwritten`, RESTORE)
      // Another process has begun the log anew while it was read.
      return tries < LOOKS_MAX ? this.#look(tries + 1) : undefined
    }
    this.#last = {
      ...look,
      before: before ?? this.#last?.before,
      after: after ?? this.#last?.after,
    }
    if (after === undefined || !this.#pages.choose(after, (at) => this.#pageOf(after, at)))
      return undefined
    this.#last = { ...this.#last, content: undefined }
    // Not for as long as another process goes on: the next look is soon enough then.
    return tries === 1 ? this.#look(tries + 1) : undefined
  }

  /**
   * Whether the database file has changed since the last look, and no checkpoint was at it from before the file
   * was read then until after it was read now. A checkpoint says so in the index before it writes to the file,
   * and once more when it has written. One that came between the file and the index of one look would
   * otherwise be missed: the file then is from before it, and the index from after it.
   */
  #isOverwritten({ size, content, after }: Look): boolean {
    const last = this.#last
    if (last?.before === undefined || after === undefined) return false
    if (isSame(content, last.content) && size >= last.size) return false
    return (
      after.salt === last.before.salt &&
      after.inDatabase === last.before.inDatabase &&
      after.onTheWay === last.before.onTheWay &&
      after.onTheWay <= after.inDatabase
    )
  }

  #readIndex(): WalIndex | undefined {
    return this.#sharedMemory && readWalIndex(this.#sharedMemory)
  }

  /** The first file whose name stands for another, or for none. */
  #findRenamed(): string | undefined {
    for (const [name, identity] of this.#identities)
      if ((see(name)?.identity ?? 'none') !== identity) return name
    return undefined
  }

  /** Whether no process has written to the log since the index was read: SQLite says there when one has. */
  #isStill(index: WalIndex): boolean {
    const now = this.#readIndex()
    return now !== undefined && JSON.stringify(now) === JSON.stringify(index)
  }

  #isLogWhole(now: WalIndex): boolean {
    // Empty, or about to begin anew.
    if (this.#log === undefined || now.frames === 0) return true
    if (this.#readLog(0, LOG_HEADER_BYTES)?.toString('latin1', 16, 24) !== now.salt) return false
    const before = this.#last?.after
    const isSame = before?.salt === now.salt && before.frames > 0
    if (isSame && this.#readFrame(before, before.frames)?.checksum !== before.checksum) return false
    // What was cut off ends with what was the last frame by then, and others may have written since.
    const first = this.#last === undefined ? now.frames : isSame ? before.frames : 1
    for (let frame = first; frame < now.frames; frame += 1)
      if (this.#readFrame(now, frame)?.salt !== now.salt) return false
    return this.#readFrame(now, now.frames)?.checksum === now.checksum
  }

  /** The page that a frame of this log has. */
  #pageOf(index: WalIndex, frame: number): number | undefined {
    const found = this.#readFrame(index, frame)
    return found?.salt === index.salt ? found.page : undefined
  }

  /** From the header of a frame. They are counted from 1. */
  #readFrame(
    { pageSize }: WalIndex,
    frame: number,
  ): { readonly page: number; readonly salt: string; readonly checksum: string } | undefined {
    const at = LOG_HEADER_BYTES + (frame - 1) * (FRAME_HEADER_BYTES + pageSize)
    const bytes = this.#readLog(at, FRAME_HEADER_BYTES)
    return (
      bytes && {
        page: bytes.readUInt32BE(0),
        salt: bytes.toString('latin1', 8, 16),
        checksum: bytes.toString('latin1', 16, 24),
      }
    )
  }

  #readLog(at: number, length: number): Buffer | undefined {
    const bytes = Buffer.allocUnsafe(length)
    const read = attempt(() => readSync(this.#log as number, bytes, 0, length, at))
    return read === length ? bytes : undefined
  }
}

/** What is not known differs from nothing. */
function isSame(now: Buffer | undefined, before: Buffer | undefined): boolean {
  return now === undefined || before === undefined || now.equals(before)
}

function see(path: string): { readonly identity: string; readonly size: bigint } | undefined {
  const seen = attempt(() => statSync(path, { bigint: true }))
  return seen && { identity: `${seen.dev}:${seen.ino}`, size: seen.size }
}

/** What cannot be looked at counts as not there. */
function attempt<Result>(look: () => Result): Result | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

function describe(what: string, advice: string): string {
  return `${what} while it was open. Nothing more is stored, since it would be lost. ${advice}`
}
