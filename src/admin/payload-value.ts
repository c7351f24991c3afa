/**
 * Whether a payload has a value at a place, as a handler would find it there.
 *
 * Read here and not by the database: PostgreSQL's jsonb refuses a NUL and a lone surrogate, SQLite's reader takes what
 * `JSON.parse` does not, and both round or keep numbers in ways of their own.
 *
 * @module
 */

import { findValueIn, JsonBody } from '../body/json-body.ts'
import type { JsonPath } from '../body/json-tokens.ts'
import { parsePayload } from '../model/parse-payload.ts'
import type { SearchedBody } from '../store/contract/event-search.ts'
import type { PayloadCondition } from './event-query.ts'

export function hasPayloadValue(
  { body, headers }: SearchedBody,
  { path, equals }: { readonly path: JsonPath; readonly equals: PayloadCondition['equals'] },
): boolean {
  const found = findValueIn(tryParse(body, headers), path)
  if (typeof found !== 'number' || typeof equals !== 'string') return found === equals
  return JsonBody.find(body)?.findText(path) === equals
}

/** A payload that is none has no value anywhere. */
function tryParse(body: Uint8Array, headers: SearchedBody['headers']): unknown {
  try {
    return parsePayload({ bytes: body }, headers)
  } catch {
    return undefined
  }
}
