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
