import { HookonceError } from '../errors.ts'
import type { DeliveryHeaders } from './delivery.ts'
import type { StoredBody } from './stored-body.ts'

/**
 * The payload of a body: JSON, or a form where the sender says so.
 *
 * Only ever called on a verified body, and only when a handler asks for the payload: one that works on
 * `event.body` is not bothered by bytes that are neither.
 *
 * @throws HookonceError `PAYLOAD_INVALID`
 */
export function parsePayload(body: StoredBody, headers: DeliveryHeaders): unknown {
  const text = 'text' in body ? withoutMark(body.text) : decode(body.bytes)
  if (isForm(headers)) return parseForm(text)
  return parseJson(text)
}

/** What says in which order the bytes are, at the beginning of some texts, is none of their content. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

function decode(body: Uint8Array): string {
  try {
    return DECODER.decode(body)
  } catch (error) {
    throw new HookonceError(
      'PAYLOAD_INVALID',
      'The body is not UTF-8; a handler can still read event.body',
      { cause: error },
    )
  }
}

/** `fatal`: replacement characters would be a silent change of what the sender said. */
const DECODER = new TextDecoder('utf-8', { fatal: true })

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    // The parser's message quotes the body; only its class is passed on.
    const kind = text === '' ? 'empty' : 'not JSON'
    throw new HookonceError(
      'PAYLOAD_INVALID',
      `The body is ${kind}; a handler can still read event.body`,
      {
        cause: error instanceof SyntaxError ? undefined : error,
      },
    )
  }
}

function isForm(headers: DeliveryHeaders): boolean {
  const found = headers['content-type']
  const contentType = typeof found === 'string' ? found : found?.[0]
  return contentType?.toLowerCase().startsWith('application/x-www-form-urlencoded') === true
}

/** GitHub and others put the JSON into one field called `payload`. */
function parseForm(text: string): unknown {
  // Escaped, since Node 20 reads `中` as `-` where a `%` stands by itself in the same text.
  const fields = new URLSearchParams(text.replace(/[^\u0000-\u007f]+/g, encodeURIComponent))
  const payload = fields.get('payload')
  if (payload !== null && [...fields.keys()].length === 1) return parseJson(payload)
  const parsed: Record<string, string | string[]> = Object.create(null) as Record<
    string,
    string | string[]
  >
  for (const name of new Set(fields.keys())) {
    const values = fields.getAll(name)
    parsed[name] = values.length === 1 ? (values[0] as string) : values
  }
  return parsed
}
