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
  const source = hmac(options)

  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const payload: Record<string, unknown> = isPlainObject(given) ? structuredClone(given) : {}
  const keyPlace = [options.key].flat()[0] ?? 'body'
  const typePlace = [options.type].flat()[0]
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
  const delivery = { method, url, headers, body, receivedAt: at }
  if (given !== undefined) {
    const events = source.identify(delivery)
    const says = (name: 'key' | 'type', value: string): boolean =>
      events.some((one) => one[name] === value)
    if (!isPlaceable(keyPlace, given)) requireSaid('key', key, says)
    if (!isPlaceable(typePlace, given)) requireSaid('type', type, says)
  }
  return delivery
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
function isPlaceable(locator: string | undefined, body: unknown): boolean {
  if (locator?.startsWith('header:') === true) return true
  return locator?.startsWith('json:') === true && isPlainObject(body)
}

/** What could not be put into a body of the caller's must be what this body says, as that of an event from a file does. */
function requireSaid(
  name: 'key' | 'type',
  value: string | undefined,
  says: (name: 'key' | 'type', value: string) => boolean,
): void {
  if (value === undefined || says(name, value)) return
  throw new OptionInvalidError(`sign.${name}`, 'left out, or what this body says', value)
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
