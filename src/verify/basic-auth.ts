import { decodeBase64 } from './decode.ts'

/**
 * `user:password` of an `authorization: Basic …` header, as bytes; `undefined` when it is none.
 *
 * As bytes, because the two sides may disagree about the text: RFC 7617 leaves the encoding open, and
 * a password may hold colons.
 */
export function findBasicCredentials(header: string): Buffer | undefined {
  const match = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)
  const bytes = match?.[1] === undefined ? undefined : decodeBase64(match[1])
  return bytes?.includes(0x3a) === true ? bytes : undefined
}

/**
 * The bytes of `user:password`, or `undefined` for a text without a colon, which no header could match.
 *
 * With an empty half they are no bytes at all, which `resolveSecrets` refuses as a secret that is missing:
 * an unset variable on one side must not make a source that `Basic Og==` opens.
 */
export function decodeCredentials(text: string): Buffer | undefined {
  const colon = text.indexOf(':')
  if (colon === -1) return undefined
  const isWhole = colon > 0 && colon < text.length - 1
  return Buffer.from(isWhole ? text : '', 'utf8')
}
