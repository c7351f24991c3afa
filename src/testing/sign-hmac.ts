import { createHmac, randomUUID } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import { hmac } from '../providers/index.ts'
import type { HmacOptions, HmacTimestampOptions } from '../providers/index.ts'
import type { SignedEvent } from './signed-event.ts'

/** A delivery that a source of `hmac` with the same options believes. The first of its secrets signs. */
export function signHmac(event: SignedEvent, options: HmacOptions): Delivery {
  const { body: given, key, type, at = new Date(), headers: more } = event
  // Refuses what `hmac` refuses, so that the rest may rely on the options.
  hmac(options)

  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const payload: Record<string, unknown> = isPlainObject(given) ? structuredClone(given) : {}
  const keyPlace = [options.key].flat()[0] ?? 'body'
  const typePlace = [options.type].flat()[0]
  requirePlaceable('key', key, keyPlace, given)
  requirePlaceable('type', type, typePlace, given)
  if (key !== undefined || given === undefined)
    place(keyPlace, key ?? randomUUID(), { headers, payload })
  if (typePlace !== undefined && (type !== undefined || given === undefined)) {
    place(typePlace, type ?? 'example.created', { headers, payload })
  }
  const body =
    isPlainObject(given) || given === undefined
      ? Buffer.from(JSON.stringify(payload))
      : Buffer.from(given as string)

  const timestamp = options.timestamp && writeTimestamp(options.timestamp, at)
  if (options.timestamp !== undefined && timestamp !== undefined) {
    headers[options.timestamp.header.toLowerCase()] = timestamp
  }
  Object.assign(headers, more)
  const signature = sign(
    options,
    fillTemplate(options.signed ?? '{body}', { headers, timestamp, body }),
  )
  headers[options.header.toLowerCase()] ??= `${options.prefix ?? ''}${signature}`
  const { method = 'POST', url = '/' } = event
  return { method, url, headers, body, receivedAt: at }
}

function sign(options: HmacOptions, signed: Buffer): string {
  const first = options.secrets[0] ?? ''
  const secret = Buffer.from(
    typeof first === 'string' ? first : first.value,
    options.secretEncoding ?? 'utf8',
  )
  return createHmac(options.algorithm, secret).update(signed).digest(options.encoding)
}

function fillTemplate(
  template: string,
  values: { headers: Record<string, string>; timestamp: string | undefined; body: Buffer },
): Buffer {
  const parts = template.split(/(\{[^{}]*\})/).map((part) => {
    if (part === '{body}') return values.body
    if (part === '{timestamp}') return Buffer.from(values.timestamp ?? '')
    if (!part.startsWith('{header:')) return Buffer.from(part)
    const name = part.slice('{header:'.length, -1).toLowerCase()
    values.headers[name] ??= randomUUID()
    return Buffer.from(values.headers[name], 'latin1')
  })
  return Buffer.concat(parts)
}

function writeTimestamp({ format }: HmacTimestampOptions, at: Date): string {
  if (format === 'iso') return at.toISOString()
  return String(format === 'seconds' ? Math.floor(at.getTime() / 1000) : at.getTime())
}

/** Only an object has places for what is read from JSON, and `sign` writes no forms and no queries. */
function requirePlaceable(
  option: 'key' | 'type',
  value: string | undefined,
  locator: string | undefined,
  body: unknown,
): void {
  if (value === undefined || body === undefined || locator?.startsWith('header:') === true) return
  if (locator?.startsWith('json:') === true && isPlainObject(body)) return
  throw new OptionInvalidError(
    `sign.${option}`,
    'left out, since it cannot be put into this delivery: write it there',
    value,
  )
}

/** Puts a value where a locator such as `json:$.a[0].b` or `header:x-id` will find it. */
function place(
  locator: string,
  value: string,
  { headers, payload }: { headers: Record<string, string>; payload: Record<string, unknown> },
): void {
  if (locator.startsWith('header:')) headers[locator.slice('header:'.length).toLowerCase()] = value
  if (!locator.startsWith('json:')) return
  const steps = [...locator.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)].map(
    ([, name, index]) => name ?? Number(index),
  )
  let at: Record<string | number, unknown> = payload
  steps.forEach((step, i) => {
    const next = steps[i + 1]
    if (next === undefined) at[step] = value
    else at = (at[step] ??= typeof next === 'number' ? [] : {}) as Record<string | number, unknown>
  })
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array)
}
