/**
 * Pages of the database file that tell it from an older copy of itself.
 *
 * Such a copy may have the same size and the same header: in WAL mode the header changes when the file grows, and not
 * with every transaction. It differs in what checkpoints have written since it was made. So the pages are watched
 * that were written last, by the frames of the log, and the one in which the store keeps its time: that is written
 * every second, and is known also where the log is new.
 *
 * Only SQLite: what becomes of the files of a server is its own to see.
 *
 * @module
 */

import type { LastingFile } from './lasting-file.ts'
import type { WalIndex } from './wal-index.ts'

const DATABASE_HEADER_BYTES = 100
/** How far back in the log a page is looked for. */
const FRAMES_MAX = 16

export class WatchedPages {
  readonly #clockPage: number | undefined
  #numbers: readonly number[] = []
  #pageSize = 0
  /** Which checkpoint they were chosen after. */
  #chosenAfter = ''
  /** The page of the last frame that was committed by the look before. */
  #committed: number | undefined

  constructor(clockPage: number | undefined) {
    this.#clockPage = clockPage
  }

  /** The header and the pages, as they are in the file now; as far as it has them. */
  read(file: LastingFile): Buffer {
    const pages = this.#numbers.map(
      (page) => file.read(this.#pageSize, (page - 1) * this.#pageSize) ?? NOTHING,
    )
    return Buffer.concat([file.read(DATABASE_HEADER_BYTES) ?? NOTHING, ...pages])
  }

  /**
   * After a checkpoint others were written last. `true` when it chose anew: what was read before is then of other
   * pages.
   */
  choose(index: WalIndex, pageOf: (frame: number) => number | undefined): boolean {
    if (index.pageSize === 0) return false
    const committed = this.#committed
    this.#committed = pageOf(index.frames) ?? committed
    const checkpoint = `${index.salt} ${index.inDatabase}`
    if (checkpoint === this.#chosenAfter) return false
    this.#pageSize = index.pageSize
    this.#chosenAfter = checkpoint
    // A log begins anew when all of it is in the database file.
    const last = index.inDatabase === 0 ? committed : this.#findOther(index.inDatabase, pageOf)
    this.#numbers = [this.#clockPage, last ?? this.#numbers[1]].flatMap((page) => page ?? [])
    return true
  }

  /** The page of the last of these frames, and not the one that is watched in any case. */
  #findOther(frames: number, pageOf: (frame: number) => number | undefined): number | undefined {
    for (let frame = frames; frame > Math.max(0, frames - FRAMES_MAX); frame -= 1) {
      const page = pageOf(frame)
      if (page !== undefined && page !== this.#clockPage) return page
    }
    return undefined
  }
}

const NOTHING = Buffer.alloc(0)
