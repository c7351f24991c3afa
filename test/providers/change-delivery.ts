/**
 * What an attacker without the secret can do to a captured request.
 *
 * @module
 */

import fc from 'fast-check'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { hostileValues } from '../../src/testing/check-signatures.ts'

/** A change of a request; `describe` is what a failure shows. */
export interface Change {
  readonly name: string
  readonly apply: (delivery: Delivery) => Delivery
}

export interface ChangeOptions {
  readonly source: Source
  /** Whether the body is changed, too. */
  readonly body: boolean
  /** How much later it may come. */
  readonly laterSeconds: number
}

export function changeArbitrary({
  source,
  body,
  laterSeconds,
}: ChangeOptions): fc.Arbitrary<Change> {
  return fc.oneof(
    { weight: 3, arbitrary: headerChange(source) },
    { weight: 2, arbitrary: urlChange() },
    { weight: 1, arbitrary: otherChange(source, laterSeconds) },
    ...(body ? [{ weight: 4, arbitrary: bodyChange() }] : []),
  )
}

function named(name: string, apply: Change['apply']): Change {
  return { name, apply, toString: () => name } as Change
}

/** Of a header that is read: another value, the same value written otherwise, none, or one that was not there. */
function headerChange({ securityHeaders }: Source): fc.Arbitrary<Change> {
  const names = [...securityHeaders, 'content-type', 'x-forwarded-for', 'x-anything']
  return fc
    .tuple(fc.constantFrom(...names), fc.nat(), fc.string({ maxLength: 12 }))
    .map(([name, choice, text]) =>
      named(`${name} changed (${choice % 1000}, ${JSON.stringify(text)})`, (delivery) => {
        const { [name]: value, ...rest } = delivery.headers
        const values = rewrittenValues(typeof value === 'string' ? value : '', text)
        const chosen = values[choice % values.length]
        return { ...delivery, headers: chosen === undefined ? rest : { ...rest, [name]: chosen } }
      }),
    )
}

function rewrittenValues(value: string, text: string): readonly (string | undefined)[] {
  return [
    undefined,
    text,
    value + text,
    text + value,
    `${value} `,
    ` ${value}`,
    `${value}\u00a0`,
    `${value}=`,
    value.replace(/=+$/, ''),
    value.toUpperCase(),
    value.toLowerCase(),
    `${value},${value}`,
    `${value} ${value}`,
    `${value};${value}`,
    `${value},v1=${text}`,
    `${value} v1,${text}`,
    // Base64 with other bits where nothing is encoded.
    value.replace(/.(?==*$)/, (last) => String.fromCharCode(last.charCodeAt(0) ^ 1)),
    value.replaceAll('+', '-').replaceAll('/', '_'),
    ...hostileValues(value)
      .slice(0, -3)
      .map((one) => (typeof one === 'string' ? one : one[0])),
  ]
}

const TAILS = [
  '?', '?#x', '#x', '?a=1', '?&', '?=', '&', '&&', '&=', '&a', '&a=1', '?%', '?%00', '%20', '+', ';', '?x#y', '?\t',
] // prettier-ignore

function urlChange(): fc.Arbitrary<Change> {
  const tail = fc.oneof(
    fc.constantFrom(...TAILS),
    fc.webQueryParameters().map((q) => `?${q}`),
  )
  return fc.oneof(
    tail.map((text) => named(`URL with ${text}`, (one) => ({ ...one, url: one.url + text }))),
    tail.map((text) =>
      named(`URL ending with ${text}`, (one) => ({
        ...one,
        url: one.url.replace(/[?#].*$/s, '') + text,
      })),
    ),
    fc.nat().map((at) =>
      named(`URL escaped at ${at}`, (one) => {
        const query = one.url.indexOf('?') + 1
        if (query === 0 || query === one.url.length) return one
        return { ...one, url: escapeAt(one.url, query + (at % (one.url.length - query))) }
      }),
    ),
    fc.constant(
      named('parameters in another order', (one) => ({
        ...one,
        url: one.url.replace(
          /\?(.*)$/s,
          (_, query: string) => `?${query.split('&').reverse().join('&')}`,
        ),
      })),
    ),
  )
}

function escapeAt(text: string, at: number): string {
  const code = text.charCodeAt(at)
  if (code > 126) return text
  return `${text.slice(0, at)}%${code.toString(16).padStart(2, '0')}${text.slice(at + 1)}`
}

function otherChange({ methods = ['POST'] }: Source, laterSeconds: number): fc.Arbitrary<Change> {
  return fc.oneof(
    fc
      .constantFrom(...methods)
      .map((method) => named(`sent by ${method}`, (one) => ({ ...one, method }))),
    fc.nat({ max: laterSeconds }).map((seconds) =>
      named(`${seconds} s later`, (one) => ({
        ...one,
        receivedAt: new Date(one.receivedAt.getTime() + seconds * 1000),
      })),
    ),
  )
}

function bodyChange(): fc.Arbitrary<Change> {
  const text = fc.tuple(fc.constantFrom(...TEXT_CHANGES), fc.nat(), fc.string({ maxLength: 8 }))
  return text.map(([[name, change], at, scrap]) =>
    named(`${name} (${at}, ${JSON.stringify(scrap)})`, (one) => {
      const body = Buffer.from(one.body).toString('latin1')
      return { ...one, body: Buffer.from(change(body, at, scrap), 'latin1') }
    }),
  )
}

type TextChange = (body: string, at: number, scrap: string) => string

const TEXT_CHANGES: readonly (readonly [string, TextChange])[] = [
  ['a space before', (body) => ` ${body}`],
  ['a line behind', (body) => `${body}\n`],
  ['& behind', (body) => `${body}&`],
  ['& before', (body) => `&${body}`],
  ['a field behind', (body, _, scrap) => `${body}&${encodeURIComponent(scrap)}=1`],
  ['the body twice, as a form', (body) => `${body}&${body}`],
  ['fields in another order', (body) => body.split('&').reverse().join('&')],
  ['a character escaped', (body, at) => escapeAt(body, at % Math.max(1, body.length))],
  ['%20 for +', (body) => body.replaceAll('+', '%20')],
  ['small escapes', (body) => body.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())],
  ['in a list', (body) => `[${body}]`],
  ['in a list with another', (body, _, scrap) => `[${body},{"messageId":${JSON.stringify(scrap)}}]`],
  ['slashes escaped', (body) => body.replaceAll('/', '\\/')],
  ['slashes not escaped', (body) => body.replaceAll('\\/', '/')],
  ['a byte changed', (body, at, scrap) => {
    const place = at % Math.max(1, body.length)
    return body.slice(0, place) + (scrap.charAt(0) || '0') + body.slice(place + 1)
  }],
  ['a text put in', (body, at, scrap) => {
    const place = at % (body.length + 1)
    return body.slice(0, place) + scrap + body.slice(place)
  }],
  ['written anew', (body) => ofJson(body, (value) => value)],
  ['written with spaces', (body) => ofJson(body, (value) => value, 2)],
  ['a member more', (body, _, scrap) => ofJson(body, (value) => addMember(value, scrap))],
  ['a value changed', (body, at, scrap) => ofJson(body, (value) => changeLeaf(value, at, scrap))],
  ['a member less', (body, at) => ofJson(body, (value) => changeLeaf(value, at, undefined))],
  ['a letter written as an escape', (body, at) => {
    const places = [...body.matchAll(/(?<=:\s*"[^"\\]*)[a-z](?=[^"\\]*")/g)].map(({ index }) => index)
    const place = places[at % Math.max(1, places.length)]
    if (place === undefined) return body
    const code = body.charCodeAt(place).toString(16).padStart(4, '0')
    return `${body.slice(0, place)}\\u${code}${body.slice(place + 1)}`
  }],
] // prettier-ignore

function ofJson(body: string, change: (value: unknown) => unknown, indent?: number): string {
  try {
    return JSON.stringify(change(JSON.parse(body)), null, indent) ?? body
  } catch {
    return body
  }
}

function addMember(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return [...(value as unknown[]), { [name]: 1 }]
  return typeof value === 'object' && value !== null ? { ...value, [name]: 1 } : value
}

/** The leaf at a place, in order, with another text in it, or without it. */
function changeLeaf(value: unknown, at: number, text: string | undefined): unknown {
  const leaves: { readonly holder: Record<string, unknown>; readonly name: string }[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const holder = node as Record<string, unknown>
    for (const [name, inner] of Object.entries(holder)) {
      if (typeof inner === 'object' && inner !== null) visit(inner)
      else leaves.push({ holder, name })
    }
  }
  visit(value)
  const leaf = leaves[at % Math.max(1, leaves.length)]
  if (leaf === undefined) return value
  if (text === undefined) Reflect.deleteProperty(leaf.holder, leaf.name)
  else leaf.holder[leaf.name] = text
  return value
}
