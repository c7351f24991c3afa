/**
 * What the clients' answers and options have in common.
 *
 * @module
 */

import { JsonBody } from '../body/json-body.ts'
import { EVERY } from '../body/json-tokens.ts'
import { OptionInvalidError } from '../errors.ts'
import { BackfillStoppedError } from './call-api.ts'

/** The elements of the list at a path of an answer, cut from its text. */
export function readPage(
  api: string,
  bytes: Uint8Array,
  path: readonly string[],
): readonly Uint8Array[] {
  const body = JsonBody.find(bytes)
  if (body === undefined || !Array.isArray(body.findValue(path)))
    throw new BackfillStoppedError(`${api} gave something else than a list`, {})
  return body.listSlices([...path, EVERY])
}

export function requireText(option: string, value: unknown): asserts value is string {
  // The value is a secret more often than not, and is not told.
  if (typeof value !== 'string' || value === '')
    throw new OptionInvalidError(option, 'a text that is not empty', typeof value)
}

/** Without a slash at its end. */
export function requireBaseUrl(option: string, value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))
    return value.replace(/\/+$/, '')
  throw new OptionInvalidError(option, 'a URL that begins with https://', value)
}

/** A parameter of the URL that `Link: <…>; rel="next"` names. */
export function findNextParameter(headers: Headers, name: string): string | undefined {
  const links = headers.get('link')?.split(',') ?? []
  const next = links.find((link) => /;\s*rel="?next"?/.test(link))
  const url = next?.match(/<([^>]*)>/)?.[1]
  if (url === undefined || !URL.canParse(url)) return undefined
  return new URL(url).searchParams.get(name) ?? undefined
}
