/**
 * Other requests that have the text of a signed one, taken apart elsewhere.
 *
 * @module
 */

import type { Delivery } from '../../src/model/delivery.ts'
import type { SignatureSpec } from '../../src/providers/index.ts'

type Values = Readonly<Record<string, string>>

const SOME_TIME = /^(?:\d{1,13}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))$/

/** All requests that sign the same text under a template, with what stands for each of its pieces. */
export function listResplit(
  spec: SignatureSpec,
  delivery: Delivery,
  constants: Values,
): readonly Delivery[] {
  if (typeof spec.signed !== 'string') throw new Error('code has no template')
  const pieces = spec.signed.split(/(\{[^{}]*\})/).filter((piece) => piece !== '')
  const text = pieces.map((piece) => valueOf(piece, spec, delivery, constants)).join('')
  return listReadings(text, pieces, constants).map((values) => write(spec, delivery, values))
}

function valueOf(
  piece: string,
  spec: SignatureSpec,
  delivery: Delivery,
  constants: Values,
): string {
  if (!piece.startsWith('{')) return piece
  if (piece in constants) return constants[piece] ?? ''
  if (piece === '{body}') return Buffer.from(delivery.body).toString('latin1')
  if (piece.startsWith('{header:')) return String(delivery.headers[piece.slice(8, -1)])
  if (piece === '{timestamp}') return findTime(spec, delivery)
  throw new Error(`nothing is known of ${piece}`)
}

function findTime({ timestamp, list, signature }: SignatureSpec, delivery: Delivery): string {
  const at = timestamp?.at
  if (at?.startsWith('header:') === true) return String(delivery.headers[at.slice(7)])
  const entries = String(delivery.headers[String(signature).slice(7)]).split(list?.separator ?? ',')
  const mark = list?.timestamp === 'first' ? '' : (list?.timestamp ?? '')
  return (entries.find((entry) => entry.startsWith(mark)) ?? '').slice(mark.length)
}

function listReadings(
  text: string,
  pieces: readonly string[],
  constants: Values,
): readonly Values[] {
  const [piece, ...rest] = pieces
  if (piece === undefined) return text === '' ? [{}] : []
  const constant = piece.startsWith('{') ? constants[piece] : piece
  if (constant !== undefined) {
    return text.startsWith(constant)
      ? listReadings(text.slice(constant.length), rest, constants)
      : []
  }
  const ends = Array.from({ length: text.length + 1 }, (_, end) => end).filter((end) =>
    piece === '{timestamp}' ? end < 40 && SOME_TIME.test(text.slice(0, end)) : true,
  )
  return ends.flatMap((end) =>
    listReadings(text.slice(end), rest, constants).map((values) => ({
      [piece]: text.slice(0, end),
      ...values,
    })),
  )
}

/** Sent at the time that it says, as an attacker would who has captured it. */
function write(spec: SignatureSpec, delivery: Delivery, values: Values): Delivery {
  const { timestamp, signature } = spec
  const time = values['{timestamp}']
  const headers: Record<string, string | readonly string[]> = { ...delivery.headers }
  for (const [piece, value] of Object.entries(values)) {
    if (piece.startsWith('{header:')) headers[piece.slice(8, -1)] = value
  }
  if (time !== undefined && timestamp?.at?.startsWith('header:') === true) {
    headers[timestamp.at.slice(7)] = time
  } else if (time !== undefined) {
    const name = String(signature).slice(7)
    headers[name] = String(headers[name]).replace(findTime(spec, delivery), time)
  }
  const ms = time === undefined ? Number.NaN : timeOf(time, timestamp?.format)
  const receivedAt = Number.isNaN(ms) ? delivery.receivedAt : new Date(ms)
  const body = Buffer.from(values['{body}'] ?? '', 'latin1')
  return { ...delivery, headers, body, receivedAt }
}

function timeOf(text: string, format: string | undefined): number {
  if (format === 'iso') return Date.parse(text)
  return format === 'seconds' ? Number(text) * 1000 : Number(text)
}
