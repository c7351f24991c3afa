import { HookonceError } from '../errors.ts'
import type { DeliveryHeaders } from '../model/delivery.ts'

/**
 * The payload of a body: JSON, or a form where the sender says so.
 *
 * Only ever called on a verified body, and only when a handler asks for the payload: one that works on
 * `event.body` is not bothered by bytes that are neither.
 *
 * @throws HookonceError `PAYLOAD_INVALID`
 */
export function parsePayload(body: Uint8Array, headers: DeliveryHeaders): unknown {
  const text = decode(body)
  if (isForm(headers)) return parseForm(text)
  return parseJson(text)
}

function decode(body: Uint8Array): string {
  try {
    // `fatal`: replacement characters would be a silent change of what the sender said.
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (error) {
    throw new HookonceError(
      'PAYLOAD_INVALID',
      'The body is not UTF-8; a handler can still read event.body',
      { cause: error },
    )
  }
}

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
  const contentType = [headers['content-type'] ?? ''].flat()[0] ?? ''
  return contentType.toLowerCase().startsWith('application/x-www-form-urlencoded')
}

/** GitHub and others put the JSON into one field called `payload`. */
function parseForm(text: string): unknown {
  const fields = new URLSearchParams(text)
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
