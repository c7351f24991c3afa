/**
 * What a body says of itself before it is verified, found without parsing it.
 *
 * A stranger's megabyte takes `JSON.parse` forty times as long as an HMAC over it. All that has to be known
 * before a signature can be checked are a few short texts: they are cut from the bytes in one walk, and
 * nothing else is made of them. The walk looks at no more members than any sender has, and into nothing
 * inside of the outermost object that is large.
 *
 * It reads what `JSON.parse` would, of a text that is JSON. Of any other it finds something or nothing; so
 * what was found is confirmed by a parse once the signature holds (`isConfirmed`), and a body that says
 * anything else then is refused.
 *
 * @module
 */

import { isUtf8 } from 'node:buffer'
import { JsonBody } from './json-body.ts'
import { isName, skipSpace, skipValue } from './json-tokens.ts'
import type { JsonPath, JsonToken } from './json-tokens.ts'

/** More members than an object has that a signature is in. */
const MEMBERS_MAX = 1_000
/** Of an object inside of the outermost one. Mailgun's signature has 300. */
const NESTED_BYTES_MAX = 65_536
/** The largest message of SNS, which is the longest text that any sender signs by itself. */
const TEXT_BYTES_MAX = 262_144

/** Stands for an object or a list, which are not read: something is there, and it is no text. */
const NESTED: unknown = Object.freeze({})

/** What was found of a body, or that it was taken for no JSON. */
const CLAIMED = new WeakMap<Uint8Array, ClaimedJson | 'no JSON'>()

/** For what is asked before a signature is checked: `findValue` and `findText`, and nothing else of a body. */
export class ClaimedJson extends JsonBody {
  readonly #bytes: Uint8Array
  readonly #objects = new Map<number, readonly Member[]>()
  readonly #claims = new Map<string, { readonly path: JsonPath; readonly value: unknown }>()

  private constructor(bytes: Uint8Array) {
    super(bytes, undefined)
    this.#bytes = bytes
  }

  /** `undefined` for what is no object or list at first sight. The same one for the same bytes. */
  static override find(bytes: Uint8Array): ClaimedJson | undefined {
    const known = CLAIMED.get(bytes)
    if (known !== undefined) return known === 'no JSON' ? undefined : known
    const first = bytes[skipSpace(bytes, 0)]
    const isClaimed = (first === OPEN_BRACE || first === OPEN_BRACKET) && isUtf8(bytes)
    const claimed = isClaimed ? new ClaimedJson(bytes) : undefined
    CLAIMED.set(bytes, claimed ?? 'no JSON')
    return claimed
  }

  /** The string, number, boolean or `null` at a path; `NESTED` for an object or a list; else `undefined`. */
  override findValue(path: JsonPath): unknown {
    const name = JSON.stringify(path)
    const known = this.#claims.get(name)
    if (known !== undefined) return known.value
    const token = this.#findToken(path)
    const value = token && readScalar(this.#bytes, token)
    this.#claims.set(name, { path, value })
    return value
  }

  /** The text of a string, number or boolean at a path. Never empty. */
  override findText(path: JsonPath): string | undefined {
    const value = this.findValue(path)
    if (typeof value === 'number') return sliceText(this.#bytes, this.#findToken(path))
    if (typeof value === 'boolean') return String(value)
    return typeof value === 'string' && value !== '' ? value : undefined
  }

  /** Whether the body is JSON and says all that was asked of it. */
  isConfirmed(): boolean {
    const json = JsonBody.find(this.#bytes)
    if (json === undefined) return false
    return [...this.#claims.values()].every(({ path, value }) => {
      const parsed = json.findValue(path)
      const isNested = typeof parsed === 'object' && parsed !== null
      return Object.is(isNested ? NESTED : parsed, value)
    })
  }

  /** Whether nothing was claimed of these bytes, or all of it is true. */
  static isConfirmed(bytes: Uint8Array): boolean {
    const claimed = CLAIMED.get(bytes)
    // `"a&b=c"` is a form and also JSON. Verified as the one, it must not be read as the other.
    if (claimed === 'no JSON') return JsonBody.find(bytes) === undefined
    return claimed?.isConfirmed() ?? true
  }

  #findToken(path: JsonPath): JsonToken | undefined {
    let token: JsonToken = { start: skipSpace(this.#bytes, 0), end: this.#bytes.length }
    for (const [depth, step] of path.entries()) {
      if (depth > 0 && token.end - token.start > NESTED_BYTES_MAX) return undefined
      const member = this.#listMembers(token.start).findLast(
        ({ nameStart, nameEnd }) =>
          typeof step === 'string' && isName(this.#bytes, nameStart, nameEnd, step),
      )
      if (member === undefined) return undefined
      token = member.value
    }
    return token
  }

  #listMembers(start: number): readonly Member[] {
    const known = this.#objects.get(start)
    if (known !== undefined) return known
    const members: Member[] = []
    const end = walkMembers(this.#bytes, start, (nameStart, nameEnd, valueStart) => {
      const valueEnd = skipValue(this.#bytes, valueStart)
      members.push({ nameStart, nameEnd, value: { start: valueStart, end: valueEnd } })
      return valueEnd
    })
    // Of an object with too many none counts: the last of those with one name would not be known.
    const found = end === undefined ? [] : members
    this.#objects.set(start, found)
    return found
  }
}

interface Member {
  readonly nameStart: number
  readonly nameEnd: number
  readonly value: JsonToken
}

/**
 * Whether a test `holds` for every element of a list in the outermost object, or `fails` for one, or there is
 * `none`. It is given the texts at some paths of each element, in the order of the body, and no element is
 * looked at after the first for which it fails. One walk, whatever the number of elements and their size.
 */
export function testElements(
  bytes: Uint8Array,
  list: string,
  paths: readonly JsonPath[],
  test: (texts: readonly (string | undefined)[]) => boolean,
): 'holds' | 'fails' | 'none' {
  let outcome: 'holds' | 'fails' | 'none' = 'none'
  const walkElement = (start: number): number | undefined => {
    const tokens: (JsonToken | undefined)[] = paths.map(() => undefined)
    const aims = paths.map((path, index) => ({ path, index }))
    const end = walkPaths({ bytes, tokens, count: { members: 0 } }, start, aims, 0)
    const isGood = test(tokens.map((token) => token && readText(bytes, token)))
    outcome = isGood && end !== undefined ? 'holds' : 'fails'
    return isGood ? end : undefined
  }
  const end = walkMembers(bytes, skipSpace(bytes, 0), (nameStart, nameEnd, valueStart) =>
    isName(bytes, nameStart, nameEnd, list)
      ? walkElements(bytes, valueStart, walkElement)
      : skipValue(bytes, valueStart),
  )
  return end === undefined ? 'fails' : outcome
}

interface Aim {
  readonly path: JsonPath
  readonly index: number
}

/** One element that is walked through, with what was found in it. */
interface ElementWalk {
  readonly bytes: Uint8Array
  readonly tokens: (JsonToken | undefined)[]
  /** Of all objects that were looked into: one that comes a thousand times, with a thousand in it, is too many. */
  readonly count: MemberCount
}

interface MemberCount {
  members: number
}

/** Notes where the values of some paths are, and gives the end of the value; `undefined` to go no further. */
function walkPaths(
  element: ElementWalk,
  start: number,
  aims: readonly Aim[],
  depth: number,
): number | undefined {
  const { bytes, tokens, count } = element
  const inside = aims.filter(({ path }) => path.length > depth)
  const end =
    inside.length > 0 && bytes[start] === OPEN_BRACE
      ? walkMembers(
          bytes,
          start,
          (nameStart, nameEnd, valueStart) => {
            const step = ({ path }: Aim): boolean =>
              isName(bytes, nameStart, nameEnd, path[depth] as string)
            return inside.some(step)
              ? walkPaths(element, valueStart, inside.filter(step), depth + 1)
              : skipValue(bytes, valueStart)
          },
          count,
        )
      : skipValue(bytes, start)
  if (end === undefined) return undefined
  for (const { path, index } of aims) if (path.length === depth) tokens[index] = { start, end }
  return end
}

/** Where the value of a member ends; `undefined` to go no further. */
type WalkValue = (nameStart: number, nameEnd: number, valueStart: number) => number | undefined

/** The end of the object that begins here; `undefined` when it has too many members, or a value said so. */
function walkMembers(
  bytes: Uint8Array,
  start: number,
  walk: WalkValue,
  count: MemberCount = { members: 0 },
): number | undefined {
  if (bytes[start] !== OPEN_BRACE) return skipValue(bytes, start)
  let at = skipSpace(bytes, start + 1)
  while (at < bytes.length && bytes[at] === QUOTE) {
    count.members += 1
    if (count.members > MEMBERS_MAX) return undefined
    const nameEnd = skipValue(bytes, at)
    // Past the colon, which stands between the name and the value.
    const end = walk(at, nameEnd, skipSpace(bytes, skipSpace(bytes, nameEnd) + 1))
    if (end === undefined) return undefined
    at = skipSpace(bytes, end)
    if (bytes[at] !== COMMA) break
    at = skipSpace(bytes, at + 1)
  }
  return at + 1
}

function walkElements(
  bytes: Uint8Array,
  start: number,
  walk: (start: number) => number | undefined,
): number | undefined {
  if (bytes[start] !== OPEN_BRACKET) return skipValue(bytes, start)
  let at = skipSpace(bytes, start + 1)
  while (at < bytes.length && bytes[at] !== CLOSE_BRACKET) {
    const end = walk(at)
    if (end === undefined) return undefined
    at = skipSpace(bytes, end)
    if (bytes[at] !== COMMA) break
    at = skipSpace(bytes, at + 1)
  }
  return at + 1
}

/** As `JsonBody.findText`, of one value. */
function readText(bytes: Uint8Array, token: JsonToken): string | undefined {
  const value = readScalar(bytes, token)
  if (typeof value === 'number') return sliceText(bytes, token)
  if (typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** `undefined` for a text that is too long, and for what is no JSON. */
function readScalar(bytes: Uint8Array, token: JsonToken): unknown {
  const first = bytes[token.start]
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return NESTED
  if (isTooLong(bytes, token)) return undefined
  try {
    return JSON.parse(sliceText(bytes, token) ?? '')
  } catch {
    return undefined
  }
}

function sliceText(bytes: Uint8Array, token: JsonToken | undefined): string | undefined {
  if (token === undefined) return undefined
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(
    'utf8',
    token.start,
    token.end,
  )
}

/** Whether a text stands for more bytes than any sender signs. Escaped it may take six for each of them. */
function isTooLong(bytes: Uint8Array, { start, end }: JsonToken): boolean {
  if (end - start <= TEXT_BYTES_MAX) return false
  let length = 0
  for (let at = start; at < end; at += 1) {
    if (bytes[at] === BACKSLASH) at += bytes[at + 1] === LETTER_U ? 5 : 1
    length += 1
    if (length > TEXT_BYTES_MAX + 2) return true
  }
  return false
}

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const LETTER_U = 0x75
const OPEN_BRACE = 0x7b
