/**
 * Requests of the largest size that a stranger makes to keep us busy: bodies that parsers trip over, alone and
 * in every place of a body that looks like the provider's own, and headers and queries as long as they may be.
 *
 * @module
 */

import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'

export interface HostileRequest {
  readonly name: string
  readonly delivery: Delivery
}

/** All that a server takes of headers and request line by default, with some left for the others. */
const HEADER_CHARACTERS = 14_000

/** Docusign has a hundred that are read alike. */
const HEADERS_TRIED = 8
/** Where brackets stand in a sample: the outer ones are where a verifier looks. */
const PLACES_TRIED = 6

/** `forged` is a delivery of the provider that was signed with another secret. */
export function* listHostileRequests(
  source: Source,
  forged: Delivery,
  bytes: number,
): Generator<HostileRequest, void> {
  for (const [name, body] of listBodies(Buffer.from(forged.body).toString('utf8'), bytes)) {
    yield { name: `a body of ${name}`, delivery: { ...forged, body } }
  }
  const plain = Buffer.alloc(bytes, 'x')
  for (const header of source.securityHeaders.slice(0, HEADERS_TRIED)) {
    for (const [name, value] of listHeaderValues(forged.headers[header])) {
      const headers = { ...forged.headers, [header]: value }
      yield { name: `${header} of ${name}`, delivery: { ...forged, headers, body: plain } }
    }
  }
  for (const unit of ['a=b&', '&', '%41', 'a%3D=b+&', '=', "'", '?', '#']) {
    const url = `/?${fill('', unit, '', HEADER_CHARACTERS).toString('latin1')}`
    yield { name: `a query of ${unit}`, delivery: { ...forged, url, body: plain } }
  }
}

function* listBodies(
  forged: string,
  bytes: number,
): Generator<readonly [string, Uint8Array], void> {
  for (const unit of RAW) yield [`${unit} again and again`, fill('', unit, '', bytes)]
  yield ['bytes that are no UTF-8', Buffer.alloc(bytes, 0xff)]
  yield ['names that begin alike', longNames(bytes)]
  for (const [name, text] of listInjections(forged, bytes)) yield [name, text]
}

const RAW = [
  '&', 'a=b&', '%41', '+', 'a=%e4%b8%ad&', '[', '{"a":', '[[],', '{"a":1},', ',', '1,', '"', '\\',
  '"\\u0061":1,', '.', 'A', ' ', '\n', '/', 'é', '中', '\u007f', '|', '=', '--x\r\n\r\n',
] // prettier-ignore

/** What a member or an element may be filled with: the two sides of it, and what is repeated between. */
const FILLINGS = [
  ['many members', '{', '"a":1,', '"z":1}'],
  ['members with escapes in their names', '{', '"\\u0061":1,', '"z":1}'],
  ['many lists', '[', '[],', '1]'],
  ['depth', '[', '[', ''],
  ['escapes', '"', '\\u0061', '"'],
  ['letters', '"', '中', '"'],
  ['slashes', '"', '/', '"'],
] as const

/** A body that looks like the provider's own, with something large in it at each of its places in turn. */
function* listInjections(
  forged: string,
  bytes: number,
): Generator<readonly [string, Uint8Array], void> {
  const room = bytes - Buffer.byteLength(forged)
  if (!/^[[{]/.test(forged)) return yield* listFormInjections(forged, room)
  for (const [at, bracket] of listBrackets(forged)) {
    const place = `${forged.slice(0, at + 1).slice(-30)}…`
    for (const [name, before, unit, after] of FILLINGS) {
      const member = bracket === '{' ? '"x":' : ''
      const large = fill(member + before, unit, `${after},`, room)
      yield [`${name} at ${place}`, insert(forged, at + 1, large)]
    }
    const first = firstElement(forged, at)
    if (first === '') continue
    yield [
      `more and more of the same at ${place}`,
      insert(forged, at + 1, fill('', `${first},`, '', room)),
    ]
  }
}

function* listFormInjections(
  forged: string,
  room: number,
): Generator<readonly [string, Uint8Array], void> {
  for (const unit of [
    '&',
    '&a=b',
    '&a=%41',
    '%41',
    '+',
    '&%61=+',
    '&a',
    `&${forged.slice(0, 200)}`,
  ]) {
    yield [
      `a form and ${unit.slice(0, 20)}`,
      insert(forged, forged.length, fill('', unit, '', room)),
    ]
    for (const { index } of forged.matchAll(/=/g)) {
      const place = forged.slice(0, index + 1).slice(-30)
      yield [
        `${unit.slice(0, 20)} at ${place}`,
        insert(forged, index + 1, fill('', unit, '', room)),
      ]
    }
  }
  yield [
    'a form and names that begin alike',
    Buffer.concat([Buffer.from(`${forged}&`), longNames(room)]),
  ]
}

/** Where objects and lists begin, outside of texts. */
function listBrackets(json: string): readonly (readonly [at: number, bracket: string])[] {
  const found: (readonly [number, string])[] = []
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{]/g)) {
    if (!token.startsWith('"')) found.push([index, token])
  }
  return found.slice(0, PLACES_TRIED)
}

/** The first element of a list or member of an object, as text. */
function firstElement(json: string, bracket: number): string {
  for (let end = bracket + 1; end < json.length; end += 1) {
    const text = json.slice(bracket + 1, end)
    if (json[end] === ',' && isJson(json[bracket] === '[' ? `[${text}]` : `{${text}}`)) return text
  }
  const close = json[bracket] === '[' ? ']' : '}'
  for (let end = bracket + 2; end < json.length; end += 1) {
    const text = json.slice(bracket + 1, end)
    if (json[end] === close && isJson((json[bracket] as string) + text + close)) return text
  }
  return ''
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function listHeaderValues(
  forged: string | readonly string[] | undefined,
): readonly (readonly [string, string])[] {
  const own = typeof forged === 'string' && forged !== '' ? forged.slice(0, 500) : 'v1=00'
  const units = [',', ' ', '.', 'v1=', 'A', `${own},`, `${own} `, `${own}&`]
  return units.map((unit) => {
    const text = fill('', unit, '', HEADER_CHARACTERS).toString('latin1')
    return [unit.slice(0, 20), text] as const
  })
}

function longNames(bytes: number): Buffer {
  const alike = 'a'.repeat(1_000)
  let text = ''
  for (let n = 0; text.length < bytes - 1_020; n += 1) text += `${alike}${n}=1&`
  return Buffer.from(text)
}

function insert(text: string, at: number, inserted: Buffer): Buffer {
  return Buffer.concat([Buffer.from(text.slice(0, at)), inserted, Buffer.from(text.slice(at))])
}

function fill(before: string, unit: string, after: string, bytes: number): Buffer {
  const filled = Buffer.alloc(Math.max(0, bytes - before.length - after.length), unit)
  const whole = filled.subarray(0, filled.length - (filled.length % Buffer.byteLength(unit)))
  return Buffer.concat([Buffer.from(before), whole, Buffer.from(after)])
}
