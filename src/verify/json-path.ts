/**
 * The tiny language that says where an event's key or type is found:
 *
 *     json:$.data.items[0].id    a value in the JSON body
 *     header:x-event-id          a header
 *     body                       `body_` and the SHA-256 of the bytes, for senders without any id
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
import { isHeaderName } from './header-name.ts'
import { JsonBody } from './json-body.ts'
import type { JsonPath } from './json-tokens.ts'

export interface Locator {
  /** The header it reads, in lower case, if it reads one. */
  readonly header: string | undefined
  find(reading: Reading): string | undefined
}

/** One delivery being identified. Its body is parsed when first asked for, and once. */
export class Reading {
  readonly delivery: Delivery
  #json: JsonBody | undefined
  #isParsed = false

  constructor(delivery: Delivery) {
    this.delivery = delivery
  }

  get json(): JsonBody | undefined {
    if (!this.#isParsed) {
      this.#json = JsonBody.find(this.delivery.body)
      this.#isParsed = true
    }
    return this.#json
  }
}

const EXPECTED = "'json:$.path.to[0].value', 'header:<name>' or 'body'"

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
  throw new OptionInvalidError(option, EXPECTED, text)
}

/** One locator, or several to be tried in order. */
export function compileLocators(option: string, text: unknown): readonly Locator[] {
  if (!Array.isArray(text)) return [compileLocator(option, text)]
  if (text.length === 0)
    throw new OptionInvalidError(option, `${EXPECTED}, or a list of them`, text)
  return text.map((one, index) => compileLocator(`${option}[${index}]`, one))
}

/** What the first locator that finds anything finds. */
export function findFirst(locators: readonly Locator[], reading: Reading): string | undefined {
  for (const locator of locators) {
    const text = locator.find(reading)
    if (text !== undefined) return text
  }
  return undefined
}

/** `$.a.b[0]` as steps, or `undefined` when the text is no such path. `$` alone is one. */
export function findJsonPath(text: string): JsonPath | undefined {
  if (!/^\$(?:\.[^.[\]\s]+|\[\d{1,9}\])*$/.test(text)) return undefined
  const steps = text.slice(1).matchAll(/\.([^.[\]\s]+)|\[(\d{1,9})\]/g)
  return Array.from(steps, ([, name, index]) => name ?? Number(index))
}

function headerLocator(name: string): Locator {
  return {
    header: name,
    // `||`, because an empty header is as good as none.
    find: ({ delivery }) => findHeader(delivery, name) || undefined,
  }
}

function findBodyHash({ delivery }: Reading): string {
  return `body_${createHash('sha256').update(delivery.body).digest('hex')}`
}
