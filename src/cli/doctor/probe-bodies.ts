/**
 * Bodies that do not stay what they are when something on the way parses them and writes them anew. None of them says
 * anything that a handler could act on: an endpoint that looks at no signature may take the first one for an event.
 *
 * @module
 */

import { gzipSync } from 'node:zlib'

/** A body, and how it is sent. */
export interface ProbeBody {
  /** What it is called. */
  readonly kind: string
  readonly contentType: string
  readonly body: Uint8Array
  readonly isChunked?: boolean
  readonly contentEncoding?: string
}

/** Key order, white space, escapes, numbers that a parser rounds, two keys of one name, and a line end at the end. */
const JSON_TEXT =
  '{ "type":"hookonce.probe",  "b": 1.0,\t"a": 1e2, "10": "second", "9": "first",\r\n' +
  '  "text": "caf\\u00e9 \u00e9 \\/ \\u003c \ud83e\ude9d", "large": 12345678901234567890, "a": null }\n'

const FORM_TEXT = 'b=caf%C3%A9+%20%2B&a=&a=%7e~&b%5B%5D=1&=\r\n'

export const PROBE_BODIES: readonly [ProbeBody, ...ProbeBody[]] = [
  { kind: 'plain', contentType: 'application/json', body: Buffer.from(JSON_TEXT) },
  {
    kind: 'chunked',
    contentType: 'application/json',
    body: Buffer.from(JSON_TEXT),
    isChunked: true,
  },
  {
    kind: 'form',
    contentType: 'application/x-www-form-urlencoded',
    body: Buffer.from(FORM_TEXT),
  },
  {
    // A byte order mark, bytes that are no UTF-8, a NUL, and line ends of both kinds.
    kind: 'bytes',
    contentType: 'text/plain; charset=iso-8859-1',
    body: Buffer.from('efbbbfe9ff000d0a6f6e650a', 'hex'),
  },
  {
    kind: 'gzip',
    contentType: 'application/json',
    body: gzipSync(JSON_TEXT),
    contentEncoding: 'gzip',
  },
]
