/**
 * What a sender signs, written as text: `{body}`, `{timestamp}.{body}`,
 * `{header:webhook-id}.{timestamp}.{body}`. A provider's declaration has more pieces:
 *
 *     {url}          the public URL from the configuration, as it is
 *     {url+query}    the same, with the query of the request where the configured one has none
 *     {method}       the request's method
 *     {form}         a form's fields, sorted (see `form-body.ts`)
 *     {crc32}        the body's CRC-32 in decimal
 *     {json:$.a}     a value of the body
 *     {form:a}       a field of a body that is a form
 *     {option:a}     a text from the configuration
 *
 * Compiled once, so that a delivery costs one string and no parsing.
 *
 * What is joined must come apart in one way only, or a signature would hold for several requests. A header
 * may hold any text but the one that stands beside it in the template.
 *
 * @module
 */

import { crc32 } from 'node:zlib'
import { OptionInvalidError } from '../errors.ts'
import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import type { VerdictReason } from '../model/source.ts'
import { renderSortedForm } from '../body/form-body.ts'
import { isHeaderName } from '../model/header-name.ts'
import { compileLocator, UnverifiedReading } from '../body/json-path.ts'
import type { Locator, Reading } from '../body/json-path.ts'

/** Bytes as they are; text stands for one byte for each character. */
export type SignedPart = string | Uint8Array

export interface SignedTemplate {
  /** The headers it reads, in lower case. */
  readonly headers: readonly string[]
  /** Whether a header stands beside another piece with nothing between, so that its end cannot be told. */
  readonly isAmbiguous?: boolean
  render(delivery: Delivery, timestamp: string): readonly SignedPart[] | VerdictReason
}

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'header'; readonly name: string; readonly beside: Beside }
  | { readonly kind: 'value'; readonly locator: Locator }
  | { readonly kind: 'option'; readonly name: string }
  | { readonly kind: (typeof BARE_PIECES)[number] }

/** The texts in front of a piece and behind it. */
interface Beside {
  readonly before: string | undefined
  readonly after: string | undefined
}

const BARE_PIECES = ['timestamp', 'body', 'url', 'url+query', 'method', 'form', 'crc32'] as const

/** What a configuration adds to what is signed. */
export interface TemplateContext {
  readonly publicUrl?: string | undefined
  readonly options?: Readonly<Record<string, unknown>>
}

/** A template with any piece. The provider that declares it answers for what it leaves out. */
export function compileTemplate(
  option: string,
  template: string,
  context: TemplateContext,
): SignedTemplate {
  const pieces = parsePieces(option, template)
  return {
    headers: listPieceHeaders(pieces),
    render: (delivery, timestamp) =>
      render(pieces, new UnverifiedReading(delivery), timestamp, context),
  }
}

export function compileSignedTemplate(
  option: string,
  template: string,
  { hasTimestamp }: { readonly hasTimestamp: boolean },
): SignedTemplate {
  const pieces = parsePieces(option, template)
  const count = (kind: Piece['kind']) => pieces.filter((piece) => piece.kind === kind).length
  if (pieces.some(({ kind }) => !['text', 'header', 'timestamp', 'body'].includes(kind))) {
    throw new OptionInvalidError(option, KNOWN_PIECES, template)
  }
  if (count('body') !== 1)
    throw new OptionInvalidError(option, 'a template with one {body}', template)
  if (count('timestamp') > 0 && !hasTimestamp) {
    throw new OptionInvalidError(
      option,
      'a template without {timestamp}, or timestamp must be set',
      template,
    )
  }
  if (count('timestamp') === 0 && hasTimestamp) {
    // An unsigned timestamp can be written by a forger, so checking its window would only look safe.
    throw new OptionInvalidError(
      option,
      'a template with {timestamp}, since a timestamp is set',
      template,
    )
  }
  return {
    headers: listPieceHeaders(pieces),
    isAmbiguous: isAmbiguous(pieces),
    render: (delivery, timestamp) => render(pieces, new UnverifiedReading(delivery), timestamp, {}),
  }
}

function isAmbiguous(pieces: readonly Piece[]): boolean {
  return pieces.some((piece, at) => {
    const neighbours = [pieces[at - 1], pieces[at + 1]].filter((one) => one !== undefined)
    return piece.kind === 'header' && neighbours.some(({ kind }) => kind !== 'text')
  })
}

const KNOWN_PIECES =
  'a template of {body}, {timestamp}, {header:<name>} and ASCII text between them'

function listPieceHeaders(pieces: readonly Piece[]): readonly string[] {
  return pieces.flatMap((piece) => (piece.kind === 'header' ? [piece.name] : []))
}

function parsePieces(option: string, template: string): readonly Piece[] {
  const pieces = template
    .split(/(\{[^{}]*\})/)
    .filter((text) => text !== '')
    .map((text) => parsePiece(text))
  if (pieces.includes(undefined)) {
    throw new OptionInvalidError(option, KNOWN_PIECES, template)
  }
  return (pieces as readonly Piece[]).map((piece, at, all) =>
    piece.kind === 'header'
      ? { ...piece, beside: { before: textOf(all[at - 1]), after: textOf(all[at + 1]) } }
      : piece,
  )
}

function textOf(piece: Piece | undefined): string | undefined {
  return piece?.kind === 'text' ? piece.text : undefined
}

const NOTHING_BESIDE: Beside = { before: undefined, after: undefined }

function parsePiece(text: string): Piece | undefined {
  const bare = BARE_PIECES.find((kind) => text === `{${kind}}`)
  if (bare !== undefined) return { kind: bare }
  if (text.startsWith('{option:')) return { kind: 'option', name: text.slice(8, -1) }
  if (/^\{(?:json|form):/.test(text)) {
    return { kind: 'value', locator: compileLocator('signed', text.slice(1, -1)) }
  }
  if (text.startsWith('{header:')) {
    const name = text.slice('{header:'.length, -1).toLowerCase()
    return isHeaderName(name) ? { kind: 'header', name, beside: NOTHING_BESIDE } : undefined
  }
  return /^[^{}\u0080-\uffff]+$/.test(text) ? { kind: 'text', text } : undefined
}

function render(
  pieces: readonly Piece[],
  reading: Reading,
  timestamp: string,
  context: TemplateContext,
): readonly SignedPart[] | VerdictReason {
  const parts: SignedPart[] = []
  let text = ''
  for (const piece of pieces) {
    const part = renderPiece(piece, reading, timestamp, context)
    if (typeof part === 'object' && 'reason' in part) return part.reason
    if (typeof part === 'string') {
      text += part
    } else {
      if (text !== '') parts.push(text)
      parts.push(part)
      text = ''
    }
  }
  if (text !== '') parts.push(text)
  return parts
}

function renderPiece(
  piece: Piece,
  reading: Reading,
  timestamp: string,
  { publicUrl, options }: TemplateContext,
): SignedPart | { readonly reason: VerdictReason } {
  const { delivery } = reading
  switch (piece.kind) {
    case 'text':
      return piece.text
    case 'timestamp':
      return timestamp
    case 'body':
      return delivery.body
    case 'header': {
      const value = findHeader(delivery, piece.name)
      if (value === undefined) return { reason: 'missing-header' }
      const isAlone = isByteText(value) && comesApart(value, piece.beside)
      return isAlone ? value : { reason: 'malformed-header' }
    }
    case 'value': {
      const value = piece.locator.find(reading)
      return value === undefined ? { reason: 'malformed-body' } : Buffer.from(value, 'utf8')
    }
    case 'option':
      return typeof options?.[piece.name] === 'string'
        ? Buffer.from(options[piece.name] as string, 'utf8')
        : { reason: 'unknown-key' }
    case 'method':
      return Buffer.from(delivery.method, 'utf8')
    case 'url':
      return Buffer.from(publicUrl ?? '', 'utf8')
    case 'url+query':
      return Buffer.from(withQuery(publicUrl ?? '', delivery.url), 'utf8')
    case 'form':
      return renderSortedForm(delivery.body) ?? { reason: 'malformed-body' }
    case 'crc32':
      return String(crc32(delivery.body))
  }
}

/**
 * Whether the text behind a value is found first where the value ends, and the one in front last where it begins. That
 * the value does not contain it is not enough: with `::` behind it, `a` and `:b` make the same text as `a:` and `b`.
 */
function comesApart(value: string, { before = '', after = '' }: Beside): boolean {
  const isEndClear = after === '' || (value + after).indexOf(after) === value.length
  const isBeginClear = before === '' || (before + value).lastIndexOf(before) === 0
  return isEndClear && isBeginClear
}

/** The parts as the bytes they stand for. */
export function joinParts(parts: readonly SignedPart[]): Buffer {
  return Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
  )
}

/** The query may differ from request to request; the rest of the URL is never the request's to say. */
function withQuery(publicUrl: string, requestUrl: string): string {
  const at = requestUrl.indexOf('?')
  return publicUrl.includes('?') || at === -1 ? publicUrl : publicUrl + requestUrl.slice(at)
}

/**
 * HTTP delivers a header as bytes, one character for each, and as one line. Text beyond that did not come
 * over HTTP; were it accepted as well, two different ids could have the same signed bytes.
 */
export function isByteText(value: string): boolean {
  return !/[^\u0001-\u0009\u000b\u000c\u000e-\u00ff]/.test(value)
}
