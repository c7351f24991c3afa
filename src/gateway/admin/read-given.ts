/**
 * What a request says, checked against its route. What is unknown is refused with the nearest name.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { refuseRequest } from './problem.ts'
import type { Problem } from './problem.ts'

/** @throws OptionInvalidError */
export function readQuery(
  schema: z.ZodObject | undefined,
  parameters: URLSearchParams,
): Readonly<Record<string, unknown>> {
  const shape = schema?.shape ?? {}
  rejectUnknownKeys('query', Object.fromEntries(parameters), Object.keys(shape))
  const texts: Record<string, unknown> = {}
  for (const [name, text] of parameters) {
    if (Object.hasOwn(texts, name))
      throw new OptionInvalidError(`query.${name}`, { message: `query.${name} can be said once` })
    texts[name] = isNumber(shape[name]) && /^-?\d{1,15}$/.test(text) ? Number(text) : text
  }
  return schema === undefined ? {} : checkGiven('query', schema, texts)
}

function isNumber(schema: unknown): boolean {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return inner instanceof z.ZodNumber
}

/** @throws OptionInvalidError */
export function readBody(
  schema: z.ZodObject | undefined,
  text: string,
): Readonly<Record<string, unknown>> {
  const parsed = text === '' ? {} : parseJson(text)
  return checkGiven('body', schema ?? NOTHING, parsed)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new OptionInvalidError('body', { message: 'The body is not JSON' })
  }
}

const NOTHING = z.strictObject({})

/** @throws OptionInvalidError */
export function checkGiven(
  part: 'query' | 'body' | 'arguments',
  schema: z.ZodObject,
  value: unknown,
): Readonly<Record<string, unknown>> {
  rejectUnknownKeys(part, value, Object.keys(schema.shape))
  const checked = z.safeDecode(schema, value as z.input<typeof schema>)
  if (checked.success) return checked.data
  const [issue] = checked.error.issues
  const option = [part, ...(issue?.path ?? []).map(String)].join('.')
  // What was given is not in the words of zod for these: it may be a secret in the wrong place.
  throw new OptionInvalidError(option, { message: `${option}: ${issue?.message ?? 'not valid'}` })
}

/** The body as text, or why it is not read. Never holds more than the limit and one chunk. */
export function readText(
  request: IncomingMessage,
  { bytesMax, timeoutMs }: { readonly bytesMax: number; readonly timeoutMs: number },
): Promise<string | Problem> {
  const tooLarge = refuseRequest(413, `A body of this route has at most ${bytesMax} bytes.`)
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.resolve(tooLarge)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const late = refuseRequest(408, `The body took longer than ${timeoutMs} ms.`)
    const timer = setTimeout(() => settle(late), timeoutMs)
    const settle = (read: string | Problem): void => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd)
      request.pause()
      resolve(read)
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.byteLength
      if (length > bytesMax) settle(tooLarge)
      else chunks.push(chunk)
    }
    const onEnd = (): void => settle(Buffer.concat(chunks).toString('utf8'))
    const onGone = (): void => settle(refuseRequest(400, 'The request was cut off.'))
    // This one stays: a socket that breaks later would raise an error without a listener, and end the process.
    request.on('error', onGone)
    request.on('data', onData).on('end', onEnd).on('close', onGone)
  })
}
