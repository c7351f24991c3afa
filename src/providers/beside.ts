/**
 * For senders whose events are cut out of lists and keep the shape of a request: what stands beside the lists of an
 * object is written into each of its events.
 *
 * Beside a single event all of it is. Beside several it would be repeated as often as there are events, and a
 * request of which one half stands beside the other would grow with its square. So it is limited there: of a
 * directory, such as the contacts of a list of messages, an event gets the entries that it speaks of, and of
 * the rest what fits. The request itself is kept whole, once.
 *
 * @module
 */

import type { JsonNode } from '../body/json-node.ts'

/** Beside several events, for each of them. */
export const BESIDE_BYTES_MAX = 1_024
/** The same for the entries of directories. Two users of X and an app have some two kilobytes. */
const ENTRIES_BYTES_MAX = 4_096

export interface BesideSpec {
  /** The members that hold the events. */
  readonly lists: ReadonlySet<string>
  /** How many events are cut out of them. */
  readonly count: number
  /** Members with an entry for each of those that events speak of, and what an entry is known by. */
  readonly directories?: Readonly<Record<string, KeyOf>>
}

type KeyOf = (name: string, entry: unknown) => unknown

export class Beside {
  readonly #directories: readonly Directory[]
  readonly #written: string

  constructor(object: JsonNode, { lists, count, directories = {} }: BesideSpec) {
    const written: string[] = []
    const found: Directory[] = []
    let bytesLeft = count === 1 ? Infinity : BESIDE_BYTES_MAX
    for (const [name, node] of object.listMembers()) {
      if (lists.has(name)) continue
      const keyOf = Object.hasOwn(directories, name) ? directories[name] : undefined
      if (keyOf !== undefined && count > 1) {
        found.push(new Directory(name, node, keyOf))
        continue
      }
      const member = writeMember(name, node)
      const size = Buffer.byteLength(member)
      if (size > bytesLeft) continue
      written.push(member)
      bytesLeft -= size
    }
    this.#directories = found
    this.#written = written.join(',')
  }

  /** The object with one item in one of its lists and without the others, every member as it was written. */
  writeAround(list: string, item: string, spokenOf: readonly unknown[] = []): string {
    const members = this.#written === '' ? [] : [this.#written]
    let bytesLeft = ENTRIES_BYTES_MAX
    for (const directory of this.#directories) {
      const member = directory.write(spokenOf, bytesLeft)
      if (member === undefined) continue
      members.push(member)
      bytesLeft -= Buffer.byteLength(member)
    }
    return `{${[...members, `${JSON.stringify(list)}:[${item}]`].join(',')}}`
  }
}

interface Entry {
  readonly text: string
  readonly bytes: number
}

/** A list or an object whose entries are found by what they are of. */
class Directory {
  readonly #name: string
  readonly #node: JsonNode
  readonly #entries = new Map<unknown, Entry>()

  constructor(name: string, node: JsonNode, keyOf: KeyOf) {
    this.#name = name
    this.#node = node
    // Of two entries with one key the first: the sender does not say which it means, and each event could have all of them.
    const add = (key: unknown, text: string) => {
      if (key !== undefined && !this.#entries.has(key))
        this.#entries.set(key, { text, bytes: Buffer.byteLength(text) })
    }
    for (const [own, entry] of node.listMembers())
      add(keyOf(own, entry.value), writeMember(own, entry))
    for (const entry of node.walkElements()) add(keyOf('', entry.value), entry.source)
  }

  /** The entries that are spoken of, as far as they fit; where there are none all of it, if it fits. */
  write(spokenOf: readonly unknown[], bytesMax: number): string | undefined {
    const entries = [...new Set(spokenOf)].flatMap((key) => this.#entries.get(key) ?? [])
    if (entries.length === 0) {
      const fits = this.#node.bytes.byteLength <= bytesMax
      return fits ? writeMember(this.#name, this.#node) : undefined
    }
    let bytesLeft = bytesMax
    const fitting = entries.filter(({ bytes }) => {
      const fits = bytes <= bytesLeft
      if (fits) bytesLeft -= bytes
      return fits
    })
    const [open, close] = Array.isArray(this.#node.value) ? '[]' : '{}'
    const list = fitting.map(({ text }) => text).join(',')
    return `${JSON.stringify(this.#name)}:${open}${list}${close}`
  }
}

function writeMember(name: string, node: JsonNode): string {
  return `${JSON.stringify(name)}:${node.source}`
}
