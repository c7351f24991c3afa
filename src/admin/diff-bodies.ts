/**
 * What differs between two bodies that came under one key: what a person reads before they release or discard a
 * conflict.
 *
 * Bodies are hostile text. The walk stops at a number of differences, a depth and a number of values looked at, and
 * says that it did; keys and values are cut short. A body over `BYTES_MAX`, or one that is no JSON, is compared as
 * bytes.
 *
 * @module
 */

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
  const [before, after] = [parse(first), parse(second)]
  if (before === undefined || after === undefined) return diffBytes(first, second)
  const walk = new Walk()
  walk.compare('$', before.value, after.value, 0)
  return { kind: 'json', differences: walk.differences, isCut: walk.isCut }
}

function parse(body: Uint8Array): { readonly value: unknown } | undefined {
  if (body.byteLength > BYTES_MAX) return undefined
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown }
  } catch {
    return undefined
  }
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
  #looked = 0

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
      ...('before' in values && { before: preview(values.before) }),
      ...('after' in values && { after: preview(values.after) }),
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
function preview(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (isContainer(value)) return `an object with ${Object.keys(value).length} keys`
  return typeof value === 'string' ? JSON.stringify(cut(value)) : String(value)
}

function cut(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`
}
