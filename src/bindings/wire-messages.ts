/**
 * The messages of PostgreSQL's protocol that a server reads and writes, as far as `lent-socket.ts` has to be one.
 *
 * @module
 */

import type { PgResult } from '../store/postgres/driver.ts'

export interface FrontendMessage {
  /** The letter of its type; empty for the one that opens a connection, which has none. */
  readonly type: string
  readonly body: Buffer
}

/** Cuts what is written into messages, whatever pieces it comes in. */
export class MessageSplitter {
  #left = Buffer.alloc(0)
  #isOpened = false

  split(chunk: Uint8Array): readonly FrontendMessage[] {
    this.#left = Buffer.concat([this.#left, chunk])
    const messages: FrontendMessage[] = []
    for (;;) {
      const typeBytes = this.#isOpened ? 1 : 0
      if (this.#left.length < typeBytes + 4) return messages
      const end = typeBytes + this.#left.readInt32BE(typeBytes)
      if (this.#left.length < end) return messages
      const type = this.#left.toString('latin1', 0, typeBytes)
      const body = this.#left.subarray(typeBytes + 4, end)
      this.#left = this.#left.subarray(end)
      this.#isOpened = true
      messages.push({ type, body })
    }
  }
}

/** Reads the members of a message one after the other. */
export class MessageReader {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  text(): string {
    const end = this.#body.indexOf(0, this.#at)
    const text = this.#body.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }

  letter(): string {
    this.#at += 1
    return this.#body.toString('latin1', this.#at - 1, this.#at)
  }

  /** As many as the number before them says. */
  list<Item>(read: (reader: this) => Item): Item[] {
    return Array.from({ length: this.#int16() }, () => read(this))
  }

  #int16(): number {
    this.#at += 2
    return this.#body.readUInt16BE(this.#at - 2)
  }

  int32(): number {
    this.#at += 4
    return this.#body.readInt32BE(this.#at - 4)
  }

  /** A value in text form, or `null`. */
  value(): string | null {
    const length = this.int32()
    if (length < 0) return null
    this.#at += length
    return this.#body.toString('utf8', this.#at - length, this.#at)
  }
}

type Field = PgResult['fields'][number] & {
  readonly tableID?: number
  readonly columnID?: number
  readonly dataTypeSize?: number
  readonly dataTypeModifier?: number
}

const int16 = (number: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(number & 0xffff)
  return bytes
}
const int32 = (number: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(number | 0)
  return bytes
}
const text = (value: string): Buffer => Buffer.from(`${value}\0`)

function message(type: string, ...members: readonly Buffer[]): Buffer {
  const length = members.reduce((sum, { length: bytes }) => sum + bytes, 4)
  return Buffer.concat([Buffer.from(type, 'latin1'), int32(length), ...members])
}

/** Always `I`: what a library opens as a transaction is a savepoint, and is not told of here. */
export const READY = message('Z', Buffer.from('I'))
export const PARSED = message('1')
export const BOUND = message('2')
export const CLOSED = message('3')
const NO_DATA = message('n')

/** Every connection is let in. */
export const WELCOME = Buffer.concat([
  message('R', int32(0)),
  message('K', int32(0), int32(0)),
  READY,
])

export function parameterDescription(types: readonly number[]): Buffer {
  return message('t', int16(types.length), ...types.map(int32))
}

export function rowDescription(fields: PgResult['fields']): Buffer {
  if (fields.length === 0) return NO_DATA
  return message('T', int16(fields.length), ...(fields as readonly Field[]).flatMap(describeField))
}

function describeField(field: Field): Buffer[] {
  return [
    text(field.name),
    int32(field.tableID ?? 0),
    int16(field.columnID ?? 0),
    int32(field.dataTypeID),
    int16(field.dataTypeSize ?? -1),
    int32(field.dataTypeModifier ?? -1),
    int16(0),
  ]
}

export function dataRow(values: readonly (string | null)[]): Buffer {
  const members = values.flatMap((value) => {
    if (value === null) return [int32(-1)]
    const bytes = Buffer.from(value)
    return [int32(bytes.length), bytes]
  })
  return message('D', int16(values.length), ...members)
}

export function commandComplete({ command, rowCount }: PgResult<unknown>): Buffer {
  const count = rowCount === null ? '' : `${command === 'INSERT' ? ' 0' : ''} ${rowCount}`
  return message('C', text(`${command}${count}`))
}

/** By the letter under which the protocol has it. */
const ERROR_FIELDS = {
  S: 'severity',
  V: 'severity',
  C: 'code',
  M: 'message',
  D: 'detail',
  H: 'hint',
  P: 'position',
  p: 'internalPosition',
  q: 'internalQuery',
  W: 'where',
  s: 'schema',
  t: 'table',
  c: 'column',
  d: 'dataType',
  n: 'constraint',
  F: 'file',
  L: 'line',
  R: 'routine',
} as const

/** One without a code is of a connection that was lost. */
export function errorResponse(error: unknown): Buffer {
  const given = { severity: 'ERROR', code: '08006', ...readError(error) }
  const members = Object.entries(ERROR_FIELDS).flatMap(([letter, name]) => {
    const value = (given as Readonly<Record<string, unknown>>)[name]
    return typeof value === 'string' ? [Buffer.from(letter), text(value.replaceAll('\0', ''))] : []
  })
  return message('E', ...members, Buffer.alloc(1))
}

function readError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { severity, code } = error as { severity?: unknown; code?: unknown }
  return {
    ...Object.fromEntries(Object.entries(error)),
    message: error.message,
    severity: typeof severity === 'string' ? severity : 'ERROR',
    // A number or none is of the system's, not of PostgreSQL's.
    code: typeof code === 'string' ? code : '08006',
  }
}
