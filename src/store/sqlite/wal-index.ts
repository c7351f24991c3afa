/**
 * Only SQLite: the files of a server are its own.
 *
 * @module
 */

import { endianness } from 'node:os'
import type { LastingFile } from './lasting-file.ts'

/** What SQLite's shared memory (`-shm`) says of the log. The layout is that of https://sqlite.org/walformat.html. */
export interface WalIndex {
  /** Changes whenever the log begins anew. */
  readonly salt: string
  /** How many frames of the log are committed. */
  readonly frames: number
  readonly pageSize: number
  /** Of the last of them, as it is in the log. */
  readonly checksum: string
  /** How many of them are in the database file. */
  readonly inDatabase: number
  /** How many of them a checkpoint has begun to write there. More than `inDatabase` while it does. */
  readonly onTheWay: number
}

const HEADER_BYTES = 48
const INDEX_BYTES = 136
/** How often a header that another process is writing is read again. */
const TRIES = 10

/** `undefined` when it cannot be read, or is being written all the time. */
export function readWalIndex(sharedMemory: LastingFile): WalIndex | undefined {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const bytes = sharedMemory.read(INDEX_BYTES)
    if (bytes === undefined) return undefined
    // There are two copies of the header, which are equal unless one of them is being written.
    if (bytes.subarray(0, HEADER_BYTES).equals(bytes.subarray(HEADER_BYTES, 2 * HEADER_BYTES)))
      return parse(bytes)
  }
  return undefined
}

/** Here numbers are in the order of the machine; in the log, those of a frame's header are not. */
function parse(bytes: Buffer): WalIndex {
  const isLittle = endianness() === 'LE'
  const number = (at: number): number =>
    isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
  const pageSize = isLittle ? bytes.readUInt16LE(14) : bytes.readUInt16BE(14)
  const checksum = Buffer.alloc(8)
  checksum.writeUInt32BE(number(24), 0)
  checksum.writeUInt32BE(number(28), 4)
  return {
    salt: bytes.toString('latin1', 32, 40),
    frames: number(16),
    // 65,536 does not fit, and is written as 1.
    pageSize: pageSize === 1 ? 65_536 : pageSize,
    checksum: checksum.toString('latin1'),
    inDatabase: number(96),
    onTheWay: number(128),
  }
}
