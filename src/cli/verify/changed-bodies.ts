/**
 * What a body may have been before a parser, an editor or a proxy had it in hand. Where one of these has the signature,
 * it is not the sender that is wrong.
 *
 * @module
 */

/** A body as it may have been, and what was done to it since. */
export interface FormerBody {
  readonly what: string
  readonly body: Uint8Array
}

export function* listFormerBodies(body: Uint8Array): Generator<FormerBody> {
  const text = Buffer.from(body).toString('utf8')
  yield* fromText('a line end was added at its end', text.replace(/\r?\n$/, ''))
  yield* fromText('the line end at its end was taken away', `${text}\n`)
  yield* fromText('its line ends were changed from LF to CRLF', text.replaceAll('\r\n', '\n'))
  yield* fromText('its line ends were changed from CRLF to LF', text.replaceAll(/\r?\n/g, '\r\n'))
  yield* fromText('a byte order mark was added', text.replace(/^\ufeff/, ''))
  yield* fromText('it was written in Latin-1', Buffer.from(body).toString('latin1'))
  yield {
    what: 'it was read as Latin-1, and written in UTF-8',
    body: Buffer.from(text, 'latin1'),
  }
  const value = parse(text)
  if (value === undefined) return
  const parsed = 'it was parsed as JSON and written anew'
  const compact = JSON.stringify(value.json)
  yield* fromText(parsed, compact)
  yield* fromText(parsed, JSON.stringify(value.json, undefined, 2))
  yield* fromText(parsed, JSON.stringify(value.json, undefined, 4))
  yield* fromText(parsed, withSpaces(compact))
  yield* fromText(parsed, escapeUnicode(compact))
  yield* fromText(parsed, escapeUnicode(withSpaces(compact)))
  yield* fromText(parsed, compact.replaceAll('/', '\\/'))
  yield* fromText(parsed, escapeUnicode(compact.replaceAll('/', '\\/')))
}

function* fromText(what: string, text: string): Generator<FormerBody> {
  yield { what, body: Buffer.from(text, 'utf8') }
}

function parse(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** As Python writes it: a space after each colon and comma that is not in a text. */
function withSpaces(compact: string): string {
  return compact.replaceAll(/"(?:[^"\\]|\\.)*"|[:,]/g, (piece) =>
    piece === ':' || piece === ',' ? `${piece} ` : piece,
  )
}

/** As PHP and Python write it: every character beyond ASCII as `\uXXXX`. */
function escapeUnicode(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
