import { OptionInvalidError } from '../errors.ts'
import { JsonBody } from '../body/json-body.ts'
import { findJsonPath } from '../body/json-path.ts'
import type { JsonPath } from '../body/json-tokens.ts'
import type { EventId } from '../model/event.ts'
import { parsePayload } from '../model/parse-payload.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { EventBody } from '../store/contract/retention.ts'
import type { Store } from '../store/contract/store.ts'
import type { EraseResult } from './erase-result.ts'

/** A value in a body, by where it stands. */
export interface EraseWhere {
  /** Such as `$.data.customer` or `$.items[0].id`. */
  readonly path: string
  /** What stands there. A text also finds a number that is written so. */
  readonly equals: string | number | boolean
}

/** What became of `eraseWhere`. */
export interface EraseWhereResult {
  readonly status: 'done'
  /** How many events have lost their bytes. */
  readonly erased: number
  /** How many bodies were looked at. */
  readonly lookedAt: number
  /** Events with the value that could not be erased, each with why and what to do. */
  readonly refused: readonly (Extract<EraseResult, { status: 'refused' }> & {
    readonly eventId: EventId
  })[]
}

interface PayloadValue {
  readonly path: JsonPath
  readonly equals: string
}

/** How many bodies are in memory at once. */
const PAGE = 100

/** Looks through the bodies of a source, and erases those that have the value. */
export async function eraseWhere(
  store: Store<unknown>,
  { source, erase, ...value }: EraseWhereRequest,
): Promise<EraseWhereResult> {
  const refused: EraseWhereResult['refused'][number][] = []
  let erased = 0
  let lookedAt = 0
  let after: EventId | undefined
  for (;;) {
    const page = await store.retention.listBodies({ source, after, limit: PAGE })
    for (const body of page.filter((one) => hasValue(one, value))) {
      const result = await erase(body.eventId)
      if (result.status === 'done') erased += 1
      else refused.push({ ...result, eventId: body.eventId })
    }
    lookedAt += page.length
    after = page.at(-1)?.eventId
    if (page.length < PAGE) return { status: 'done', erased, lookedAt, refused }
  }
}

interface EraseWhereRequest extends PayloadValue {
  readonly source: string
  readonly erase: (eventId: EventId) => Promise<EraseResult>
}

/** @throws OptionInvalidError for a path that cannot be read, or no value */
export function requirePayloadValue(action: string, where: EraseWhere): PayloadValue {
  const option = `admin.${action}`
  if (typeof where !== 'object' || where === null)
    throw new OptionInvalidError(option, 'given an object with path and equals', where)
  rejectUnknownKeys(option, where, ['path', 'equals'])
  const path = typeof where.path === 'string' ? findJsonPath(where.path) : undefined
  if (path === undefined)
    throw new OptionInvalidError(`${option}.path`, 'a path such as $.data.customer', where.path)
  // An empty text would be an id that was forgotten, and erase whatever has none.
  if (!['string', 'number', 'boolean'].includes(typeof where.equals) || where.equals === '')
    throw new OptionInvalidError(
      `${option}.equals`,
      'a text that is not empty, a number, true or false',
      where.equals,
    )
  return { path, equals: String(where.equals) }
}

/** Compared as it is written: no number is rounded. A form is read as a handler would read it. */
function hasValue({ body, headers }: EventBody, { path, equals }: PayloadValue): boolean {
  const json = JsonBody.find(body)
  if (json !== undefined)
    return asText(json.findValue(path)) === equals || json.findText(path) === equals
  return asText(findIn(tryParse(body, headers), path)) === equals
}

function asText(value: unknown): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined
}

function tryParse(body: Uint8Array, headers: EventBody['headers']): unknown {
  try {
    return parsePayload({ bytes: body }, headers)
  } catch {
    return undefined
  }
}

function findIn(payload: unknown, path: JsonPath): unknown {
  let value = payload
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string | number, unknown>)[step]
  }
  return value
}
