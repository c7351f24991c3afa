/**
 * What a sender signs, written as text: `{body}`, `{timestamp}.{body}`,
 * `{header:webhook-id}.{timestamp}.{body}`.
 *
 * Compiled once, so that a delivery costs one string and no parsing.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import type { VerdictReason } from '../model/source.ts'
import { isHeaderName } from './header-name.ts'

/** Bytes as they are; text stands for one byte for each character. */
export type SignedPart = string | Uint8Array

export interface SignedTemplate {
  /** The headers it reads, in lower case. */
  readonly headers: readonly string[]
  render(delivery: Delivery, timestamp: string): readonly SignedPart[] | VerdictReason
}

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'timestamp' }
  | { readonly kind: 'body' }

export function compileSignedTemplate(
  option: string,
  template: string,
  { hasTimestamp }: { readonly hasTimestamp: boolean },
): SignedTemplate {
  const pieces = parsePieces(option, template)
  const count = (kind: Piece['kind']) => pieces.filter((piece) => piece.kind === kind).length
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
    // An unsigned timestamp can be written by anybody, so checking its window would only look safe.
    throw new OptionInvalidError(
      option,
      'a template with {timestamp}, since a timestamp is set',
      template,
    )
  }
  return {
    headers: pieces.flatMap((piece) => (piece.kind === 'header' ? [piece.name] : [])),
    render: (delivery, timestamp) => render(pieces, delivery, timestamp),
  }
}

function parsePieces(option: string, template: string): readonly Piece[] {
  const pieces = template
    .split(/(\{[^{}]*\})/)
    .filter((text) => text !== '')
    .map((text) => parsePiece(text))
  if (pieces.includes(undefined)) {
    const known = 'a template of {body}, {timestamp}, {header:<name>} and ASCII text between them'
    throw new OptionInvalidError(option, known, template)
  }
  return pieces as readonly Piece[]
}

function parsePiece(text: string): Piece | undefined {
  if (text === '{body}') return { kind: 'body' }
  if (text === '{timestamp}') return { kind: 'timestamp' }
  if (text.startsWith('{header:')) {
    const name = text.slice('{header:'.length, -1).toLowerCase()
    return isHeaderName(name) ? { kind: 'header', name } : undefined
  }
  return /^[^{}\u0080-\uffff]+$/.test(text) ? { kind: 'text', text } : undefined
}

function render(
  pieces: readonly Piece[],
  delivery: Delivery,
  timestamp: string,
): readonly SignedPart[] | VerdictReason {
  const parts: SignedPart[] = []
  let text = ''
  for (const piece of pieces) {
    if (piece.kind === 'body') {
      if (text !== '') parts.push(text)
      parts.push(delivery.body)
      text = ''
    } else if (piece.kind === 'header') {
      const value = findHeader(delivery, piece.name)
      if (value === undefined) return 'missing-header'
      if (!isByteText(value)) return 'malformed-header'
      text += value
    } else {
      text += piece.kind === 'text' ? piece.text : timestamp
    }
  }
  if (text !== '') parts.push(text)
  return parts
}

/**
 * HTTP delivers a header as bytes, one character for each. Text beyond that did not come over HTTP;
 * were it accepted as well, two different ids could have the same signed bytes.
 */
function isByteText(value: string): boolean {
  return !/[^\u0000-\u00ff]/.test(value)
}
