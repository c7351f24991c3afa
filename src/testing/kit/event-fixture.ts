/**
 * An event in a file: what came, without what proves where it came from. It is signed anew when it is delivered in a
 * test, so that no signature of a real secret is kept, and none that is too old stands in the way.
 *
 * @module
 */

import { readFile } from 'node:fs/promises'
import { OptionInvalidError } from '../../errors.ts'
import type { DeliveryHeaders } from '../../model/delivery.ts'
import type { Source } from '../../model/source.ts'

/** What is in the file, as JSON. */
export interface EventFixture {
  /** What it is, and by which rules it is read. */
  readonly format: 'hookonce-fixture/1'
  /** The name of the source. */
  readonly source: string
  readonly type: string
  /** The sender's id of the event; left out where the body alone says it. */
  readonly key?: string
  /** Without signatures, tokens and cookies. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that came, in base64. */
  readonly body: string
  /** When it came, as ISO 8601. */
  readonly receivedAt: string
}

/** What `toFixture` makes a fixture of: an event as a handler or `admin.findEvent` has it. */
export interface FixtureSubject {
  readonly source: string
  readonly type: string
  readonly key?: string | undefined
  readonly headers: DeliveryHeaders
  readonly body: Uint8Array
  readonly receivedAt: Date
}

/**
 * A fixture of an event, to be kept in a file: `JSON.stringify(toFixture(event, source))`. Headers that show or prove a
 * secret are left out. The body is as it came, so look at what is in it before you put it into a repository.
 *
 * @param source - the source that took it, which knows its security headers
 */
export function toFixture(
  { source: name, type, key, headers, body, receivedAt }: FixtureSubject,
  source?: Pick<Source, 'securityHeaders' | 'secretHeaders'>,
): EventFixture {
  const withheld = new Set([
    ...(source?.securityHeaders ?? []),
    ...(source?.secretHeaders ?? []),
    ...ALWAYS_WITHHELD,
  ])
  const kept = Object.entries(headers).flatMap(([header, value]) =>
    withheld.has(header.toLowerCase()) ||
    LOOKS_SECRET.test(header) ||
    typeof value !== 'string' ||
    value === WITHHELD
      ? []
      : [[header.toLowerCase(), value]],
  )
  return {
    format: FORMAT,
    source: name,
    type,
    ...(key !== undefined && key !== '' && { key }),
    headers: Object.fromEntries(kept) as Record<string, string>,
    body: Buffer.from(body).toString('base64'),
    receivedAt: receivedAt.toISOString(),
  }
}

const FORMAT = 'hookonce-fixture/1'

/** The length and the host are those of the delivery that is made of it. */
const ALWAYS_WITHHELD = [
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'host',
  'proxy-authorization',
  'transfer-encoding',
]

/** What is stored in place of a header that shows a secret. */
const WITHHELD = '[withheld]'

const LOOKS_SECRET = /signature|secret|token|password|api-?key|hmac|digest/i

export interface ReadFixture {
  readonly source: string
  readonly type: string
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** @throws OptionInvalidError for a file that is no fixture */
export async function readFixture(given: string | object): Promise<ReadFixture> {
  const found: unknown =
    typeof given === 'string' ? parse(given, await readFile(given, 'utf8')) : given
  const { format, source, type, key, headers, body } = (found ?? {}) as Partial<EventFixture>
  if (format !== FORMAT)
    throw new OptionInvalidError('deliverFixture.format', JSON.stringify(FORMAT), format)
  requireText('source', source)
  requireText('type', type)
  requireText('body', body)
  if (key !== undefined) requireText('key', key)
  if (typeof headers !== 'object' || headers === null)
    throw new OptionInvalidError('deliverFixture.headers', 'an object of texts', headers)
  for (const [name, value] of Object.entries(headers)) requireText(`headers.${name}`, value)
  return { source, type, key, headers, body: Buffer.from(body, 'base64') }
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new OptionInvalidError('deliverFixture', {
      message: `deliverFixture: ${file} is not JSON: ${String(error)}`,
    })
  }
}

function requireText(name: string, value: unknown): asserts value is string {
  if (typeof value === 'string') return
  throw new OptionInvalidError(`deliverFixture.${name}`, 'text', value)
}
