/**
 * What differs between two bodies that came under one key: what a person reads before they release or discard a
 * conflict.
 *
 * Bodies are hostile text. The walk stops at a number of differences, a depth and a number of values looked at, and
 * says that it did; keys and values are cut short. A body over `BYTES_MAX`, or one that is no JSON, is compared as
 * bytes.
 *
 * Numbers that JavaScript has none for are compared as they are written: two that `JSON.parse` makes one of, such as
 * 9007199254740992 and 9007199254740993, would be no difference, and a person would take the bodies for the same.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'

export type BodyDiff =
  | {
      readonly kind: 'json'
      readonly differences: readonly Difference[]
      /** Whether there may be more than is listed. */
      readonly isCut: boolean
    }
  | {
      readonly kind: 'bytes'
      /** How long each of them is. */
      readonly lengths: readonly [first: number, second: number]
      /** Where the first differing byte is; `undefined` when they are equal. */
      readonly differsAt: number | undefined
    }

export interface Difference {
  /** Such as `$.data.items[3]`; a key that is no plain word is in quotes. */
  readonly path: string
  readonly change: 'added' | 'removed' | 'changed'
  /** As JSON, cut short. */
  readonly before?: string
  readonly after?: string
}

const BYTES_MAX = 1024 * 1024
const DIFFERENCES_MAX = 100
const DEPTH_MAX = 50
const VALUES_MAX = 20_000
const TEXT_LENGTH_MAX = 200

export function diffBodies(first: Uint8Array, second: Uint8Array): BodyDiff {
  // Such a number becomes a text that begins with this, which no sender can know.
  const prefix = randomUUID()
  const [before, after] = [parse(first, prefix), parse(second, prefix)]
  if (before === undefined || after === undefined) return diffBytes(first, second)
  const walk = new Walk(prefix)
  walk.compare('$', before.value, after.value, 0)
  return { kind: 'json', differences: walk.differences, isCut: walk.isCut }
}

function parse(body: Uint8Array, prefix: string): { readonly value: unknown } | undefined {
  if (body.byteLength > BYTES_MAX) return undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    const value: unknown = JSON.parse(text)
    const marked = text.replace(TEXT_OR_NUMBER, (piece) =>
      isKept(piece) ? piece : JSON.stringify(prefix + piece),
    )
    return { value: marked === text ? value : JSON.parse(marked) }
  } catch {
    return undefined
  }
}

/** Of a body that `JSON.parse` has accepted. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** Whether it is a text, or a number of which JavaScript keeps every digit: it does so for 15 of them. */
function isKept(piece: string): boolean {
  if (piece.startsWith('"')) return true
  const digits = piece
    .replace(/[eE].*/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '')
  const value = Number(piece)
  return digits.length <= 15 && Number.isFinite(value) && (value !== 0 || digits === '')
}

function diffBytes(first: Uint8Array, second: Uint8Array): BodyDiff {
  const shorter = Math.min(first.byteLength, second.byteLength)
  let at = 0
  while (at < shorter && first[at] === second[at]) at += 1
  const isEqual = at === shorter && first.byteLength === second.byteLength
  return {
    kind: 'bytes',
    lengths: [first.byteLength, second.byteLength],
    differsAt: isEqual ? undefined : at,
  }
}

class Walk {
  readonly differences: Difference[] = []
  isCut = false
  readonly #prefix: string
  #looked = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  compare(path: string, before: unknown, after: unknown, depth: number): void {
    if (this.#isOver()) return
    this.#looked += 1
    if (
      !isContainer(before) ||
      !isContainer(after) ||
      Array.isArray(before) !== Array.isArray(after)
    ) {
      if (!Object.is(before, after)) this.#note({ path, change: 'changed', before, after })
      return
    }
    if (depth >= DEPTH_MAX) {
      this.isCut = true
      return
    }
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (this.#isOver()) return
      const inner = `${path}${asStep(key, Array.isArray(before))}`
      if (!Object.hasOwn(after, key))
        this.#note({ path: inner, change: 'removed', before: before[key] })
      else if (!Object.hasOwn(before, key))
        this.#note({ path: inner, change: 'added', after: after[key] })
      else this.compare(inner, before[key], after[key], depth + 1)
    }
  }

  #isOver(): boolean {
    if (this.differences.length >= DIFFERENCES_MAX || this.#looked >= VALUES_MAX) this.isCut = true
    return this.isCut
  }

  #note({
    path,
    change,
    ...values
  }: Pick<Difference, 'path' | 'change'> & { before?: unknown; after?: unknown }): void {
    this.#looked += 1
    this.differences.push({
      path: cut(path),
      change,
      ...('before' in values && { before: preview(values.before, this.#prefix) }),
      ...('after' in values && { after: preview(values.after, this.#prefix) }),
    })
  }
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function asStep(key: string, isList: boolean): string {
  if (isList) return `[${key}]`
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(cut(key))}]`
}

/** A container is not written out: it may be all of the body. */
function preview(value: unknown, prefix: string): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (isContainer(value)) return `an object with ${Object.keys(value).length} keys`
  if (typeof value !== 'string') return String(value)
  return value.startsWith(prefix) ? cut(value.slice(prefix.length)) : JSON.stringify(cut(value))
}

function cut(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`
}
