/**
 * Bodies, headers and texts in the shapes of the contract, sealed on their way to a store and opened on the way back.
 * One implementation for both engines.
 *
 * @module
 */

import { asError, UnreadableError } from '../../../errors.ts'
import { isSealed } from './cipher.ts'
import type { Cipher, Place } from './cipher.ts'
import { SEALED_HEADERS } from '../../../model/sealed-headers.ts'

/** What is sealed together: a body, and what was said of it. */
export interface Content<Headers> {
  readonly body: Uint8Array
  readonly headers: Headers
}

/** Where both of them are. */
export interface ContentPlaces {
  readonly body: Place
  readonly headers: Place
}

type AnyHeaders = Readonly<Record<string, string | readonly string[]>>

export function sealContent<Headers extends AnyHeaders>(
  cipher: Cipher,
  { body, headers }: Content<Headers>,
  places: ContentPlaces,
): Content<Headers> {
  const text = JSON.stringify(headers)
  const sealed = cipher.sealText(text, places.headers)
  const isClear = sealed === text
  return {
    body: cipher.seal(body, places.body),
    headers: isClear ? headers : ({ [SEALED_HEADERS]: sealed } as unknown as Headers),
  }
}

/**
 * Both were sealed together: where only one of them looks like it, the other was changed.
 *
 * @throws UnreadableError
 */
export function openContent<Headers extends AnyHeaders>(
  cipher: Cipher,
  { body, headers }: Content<Headers>,
  places: ContentPlaces,
): Content<Headers> {
  const sealed = findSealed(headers)
  if ((sealed !== undefined) !== isSealed(body)) throw changed(places.body)
  if (sealed === undefined) return { body, headers }
  const opened = cipher.openText(sealed, places.headers)
  // Text that does not begin as it should is handed over as it is.
  if (opened === sealed) throw changed(places.headers)
  return { body: cipher.open(body, places.body), headers: JSON.parse(opened) as Headers }
}

function changed({ table, id }: Place): UnreadableError {
  return new UnreadableError('DECRYPT_FAILED', `${table} of ${id}`)
}

/** The headers alone, where the body is kept elsewhere. @throws UnreadableError */
export function openHeaders<Headers extends AnyHeaders>(
  cipher: Cipher,
  headers: Headers,
  place: Place,
): Headers {
  const sealed = findSealed(headers)
  if (sealed === undefined) return headers
  const opened = cipher.openText(sealed, place)
  if (opened === sealed) throw changed(place)
  return JSON.parse(opened) as Headers
}

function findSealed(headers: AnyHeaders): string | undefined {
  const sealed = headers[SEALED_HEADERS]
  return sealed === undefined ? undefined : String(sealed)
}

/** What `open` returns, or why it cannot be read. Anything else that goes wrong is thrown. */
export function attempt<Opened>(
  open: () => Opened,
): { readonly opened: Opened } | { readonly unreadable: UnreadableError } {
  try {
    return { opened: open() }
  } catch (thrown) {
    const error = asError(thrown)
    if (error instanceof UnreadableError) return { unreadable: error }
    throw error
  }
}

/** A text for people. One that cannot be read says so in its place. */
export function showText<Text extends string | undefined>(
  cipher: Cipher,
  text: Text,
  place: Place,
): Text {
  if (text === undefined) return text
  const found = attempt(() => cipher.openText(text, place))
  return ('opened' in found ? found.opened : `(${found.unreadable.message})`) as Text
}

/** The same where there need not be one. */
export function sealTextOf<Text extends string | undefined>(
  cipher: Cipher,
  text: Text,
  place: Place,
): Text {
  return (text === undefined ? undefined : cipher.sealText(text, place)) as Text
}
