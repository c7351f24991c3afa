/**
 * A body read as JSON, once, for the few values that identify an event.
 *
 * What `JSON.parse` makes of the body is what a handler will see, so it decides what is valid and
 * which of two equal names wins. It cannot be trusted with numbers: 9007199254740993 becomes …992,
 * and two events would share a key. Numbers are therefore taken from the source text.
 *
 * Total: what cannot be read is `undefined`. Nothing recurses, so depth is no danger.
 *
 * @module
 */

import { isUtf8 } from 'node:buffer'
import { JsonNode } from './json-node.ts'
import { findJsonToken, listJsonTokens, OutermostMembers, walkJsonTokens } from './json-tokens.ts'
import type { JsonPath, JsonPattern } from './json-tokens.ts'

export class JsonBody {
  readonly #bytes: Uint8Array
  readonly #value: unknown
  readonly #outermost: OutermostMembers

  protected constructor(bytes: Uint8Array, value: unknown) {
    this.#bytes = bytes
    this.#value = value
    this.#outermost = new OutermostMembers(bytes)
  }

  /** `undefined` when the bytes are not JSON in UTF-8. A byte order mark makes them not JSON. */
  static find(bytes: Uint8Array): JsonBody | undefined {
    if (!isUtf8(bytes)) return undefined
    try {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
      return new JsonBody(bytes, JSON.parse(text))
    } catch {
      return undefined
    }
  }

  /** The value at a path, as `JSON.parse` gives it. */
  findValue(path: JsonPath): unknown {
    return findValueIn(this.#value, path)
  }

  /** The text of a string, number or boolean at a path. Never empty. */
  findText(path: JsonPath): string | undefined {
    const value = this.findValue(path)
    switch (typeof value) {
      case 'string':
        return value === '' ? undefined : value
      case 'number':
        return this.#findTokenText(path)
      case 'boolean':
        return String(value)
      default:
        return undefined
    }
  }

  /** The value at a path with the place it stands at, for code that goes on from there. */
  findNode(path: JsonPath): JsonNode | undefined {
    const token = findJsonToken(this.#bytes, path, this.#outermost)
    return token && new JsonNode(this.#bytes, token, this.findValue(path))
  }

  /** The bytes of every value that a pattern names, cut from the source text. */
  listSlices(pattern: JsonPattern): readonly Uint8Array[] {
    return [...this.walkSlices(pattern)]
  }

  /** The same, one after the other: a list is walked no further than they are asked for. */
  *walkSlices(pattern: JsonPattern): Generator<Uint8Array, void> {
    for (const { start, end } of walkJsonTokens(this.#bytes, pattern, this.#outermost))
      yield this.#bytes.subarray(start, end)
  }

  /**
   * The body without the values at some places, or `undefined` when it has none of them.
   * The rest is kept byte for byte: for a fingerprint it needs not be JSON any more, and where it has
   * to be, something else is put `instead`.
   */
  findBytesWithout(patterns: readonly JsonPattern[], instead = ''): Uint8Array | undefined {
    const tokens = patterns
      .flatMap((pattern) => listJsonTokens(this.#bytes, pattern, this.#outermost))
      .sort((a, b) => a.start - b.start)
    if (tokens.length === 0) return undefined
    const kept: Uint8Array[] = []
    let from = 0
    for (const { start, end } of tokens) {
      // Inside of one that is gone already.
      if (start < from) continue
      kept.push(this.#bytes.subarray(from, start))
      if (instead !== '') kept.push(Buffer.from(instead, 'utf8'))
      from = end
    }
    kept.push(this.#bytes.subarray(from))
    return Buffer.concat(kept)
  }

  #findTokenText(path: JsonPath): string | undefined {
    const token = findJsonToken(this.#bytes, path, this.#outermost)
    if (token === undefined) return undefined
    return Buffer.from(this.#bytes.subarray(token.start, token.end)).toString('latin1')
  }
}

/** The value at a path in what `JSON.parse` or a form has given. */
export function findValueIn(payload: unknown, path: JsonPath): unknown {
  let value = payload
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    if (Array.isArray(value) !== (typeof step === 'number')) return undefined
    // Own members only: `$.constructor` must not find Object's.
    if (!Object.hasOwn(value, step)) return undefined
    value = (value as Record<string | number, unknown>)[step]
  }
  return value
}
