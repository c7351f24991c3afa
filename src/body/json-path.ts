/**
 * The tiny language that says where an event's key or type is found:
 *
 *     json:$.data.items[0].id    a value in the JSON body
 *     header:x-event-id          a header
 *     form:MessageSid            a field of a body that is a form
 *     query:challenge            a parameter of the URL, which is not signed unless the scheme signs it
 *     body                       `body_` and the SHA-256 of the event's bytes, for senders without any id
 *
 * and, where a delivery carries several events, each of them is read as `json:`, and
 *
 *     root:$.account             a value in the body around it, of at most 1,024 characters
 *     index                      its place in the body, from 0
 *
 * A value that is missing, empty, null, an object or a list is `undefined`, never `''`: an empty
 * key would make every event without one the same event.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'
import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import { ClaimedJson } from './claimed-json.ts'
import { findFormField } from './form-body.ts'
import { isHeaderName } from '../model/header-name.ts'
import { JsonBody } from './json-body.ts'
import { EVERY } from './json-tokens.ts'
import type { JsonPath, JsonPattern } from './json-tokens.ts'

export interface Locator {
  /** The header it reads, in lower case, if it reads one. */
  readonly header: string | undefined
  /** Whether it reads the URL's query: a person with one signed request can write another query. */
  readonly readsQuery?: true
  find(reading: Reading): string | undefined
}

/** One event of a delivery that carries several. */
export interface ReadingPart {
  readonly bytes: Uint8Array
  readonly index: number
  readonly root: Reading
}

/** One delivery being identified, or one event of it. Its body is parsed when first asked for, and once. */
export class Reading {
  readonly delivery: Delivery
  /** What the source was configured with. */
  readonly options: Readonly<Record<string, unknown>>
  /** The text that was signed, where the scheme says so. */
  readonly signed: Uint8Array | undefined
  readonly #part: ReadingPart | undefined
  #json: JsonBody | undefined
  #isParsed = false
  #query: URLSearchParams | undefined
  readonly #sharedTexts = new Map<string, string | undefined>()

  constructor(
    delivery: Delivery,
    part?: ReadingPart,
    options: Readonly<Record<string, unknown>> = {},
    signed?: Uint8Array,
  ) {
    this.delivery = delivery
    this.#part = part
    this.options = options
    this.signed = signed
  }

  /** The event's own bytes: its part of the body, or the whole. */
  get bytes(): Uint8Array {
    return this.#part?.bytes ?? this.delivery.body
  }

  get json(): JsonBody | undefined {
    if (!this.#isParsed) {
      this.#json = JsonBody.find(this.bytes)
      this.#isParsed = true
    }
    return this.#json
  }

  /** The body that the event is a part of. */
  get root(): JsonBody | undefined {
    return this.#part === undefined ? this.json : this.#part.root.json
  }

  /**
   * The text at a path in the body that the event is a part of, looked up once for all its parts.
   *
   * What one part takes over, each may: a text of half a megabyte in the key of ten thousand events would be five
   * gigabytes. So it has an end, and one that is longer is as good as none.
   */
  findRootText(path: JsonPath): string | undefined {
    if (this.#part === undefined) return this.json?.findText(path)
    const shared = this.#part.root.#sharedTexts
    const name = JSON.stringify(path)
    if (!shared.has(name)) {
      const text = this.root?.findText(path)
      shared.set(name, text !== undefined && text.length > ROOT_TEXT_MAX ? undefined : text)
    }
    return shared.get(name)
  }

  get index(): number {
    return this.#part?.index ?? 0
  }

  get query(): URLSearchParams {
    if (this.#part !== undefined) return this.#part.root.query
    const { url } = this.delivery
    const at = url.indexOf('?')
    this.#query ??= new URLSearchParams(at === -1 ? '' : url.slice(at + 1).replace(/#.*$/s, ''))
    return this.#query
  }
}

const ROOT_TEXT_MAX = 1_024

/** A delivery that is not verified yet: of its body no more is read than what a signature needs. */
export class UnverifiedReading extends Reading {
  override get json(): JsonBody | undefined {
    return ClaimedJson.find(this.delivery.body)
  }
}

const EXPECTED =
  "'json:$.path.to[0].value', 'header:<name>', 'form:<name>', 'query:<name>' or 'body'"

export function compileLocator(option: string, text: unknown): Locator {
  if (text === 'body') return { header: undefined, find: findBodyHash }
  if (typeof text === 'string' && text.startsWith('header:')) {
    const name = text.slice('header:'.length).toLowerCase()
    if (isHeaderName(name)) return headerLocator(name)
  }
  if (typeof text === 'string' && text.startsWith('json:')) {
    const path = findJsonPath(text.slice('json:'.length))
    if (path !== undefined) return { header: undefined, find: ({ json }) => json?.findText(path) }
  }
  if (typeof text === 'string' && text.startsWith('root:')) {
    const path = findJsonPath(text.slice('root:'.length))
    if (path !== undefined) return { header: undefined, find: (one) => one.findRootText(path) }
  }
  if (typeof text === 'string' && /^(form|query):./.test(text)) return fieldLocator(text)
  if (text === 'index') return { header: undefined, find: ({ index }) => String(index) }
  throw new OptionInvalidError(option, EXPECTED, text)
}

function fieldLocator(text: string): Locator {
  const name = text.slice(text.indexOf(':') + 1)
  if (text.startsWith('form:')) {
    return {
      header: undefined,
      find: ({ delivery }) => findFormField(delivery.body, name) || undefined,
    }
  }
  return {
    header: undefined,
    readsQuery: true,
    find({ query }) {
      const values = query.getAll(name)
      return (values.length === 1 && values[0]) || undefined
    },
  }
}

/** One locator, or several to be tried in order. */
export function compileLocators(option: string, text: unknown): readonly Locator[] {
  if (!Array.isArray(text)) return [compileLocator(option, text)]
  if (text.length === 0)
    throw new OptionInvalidError(option, `${EXPECTED}, or a list of them`, text)
  return text.map((one, index) => compileLocator(`${option}[${index}]`, one))
}

/** `$.a.b[0]` as steps, or `undefined` when the text is no such path. `$` alone is one. */
export function findJsonPath(text: string): JsonPath | undefined {
  if (!/^\$(?:\.[^.[\]\s]+|\[\d{1,9}\])*$/.test(text)) return undefined
  const steps = text.slice(1).matchAll(/\.([^.[\]\s]+)|\[(\d{1,9})\]/g)
  return Array.from(steps, ([, name, index]) => name ?? Number(index))
}

/** As `findJsonPath`, with `[*]` for every element of a list. */
export function findJsonPattern(text: string): JsonPattern | undefined {
  if (!/^\$(?:\.[^.[\]\s]+|\[(?:\d{1,9}|\*)\])*$/.test(text)) return undefined
  const steps = text.slice(1).matchAll(/\.([^.[\]\s]+)|\[(\d{1,9}|\*)\]/g)
  return Array.from(steps, ([, name, index]) => name ?? (index === '*' ? EVERY : Number(index)))
}

function headerLocator(name: string): Locator {
  return {
    header: name,
    // `||`, because an empty header is as good as none.
    find: ({ delivery }) => findHeader(delivery, name) || undefined,
  }
}

function findBodyHash({ bytes }: Reading): string {
  return `body_${createHash('sha256').update(bytes).digest('hex')}`
}
