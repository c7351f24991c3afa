/**
 * From what was said on the command line to a delivery that is signed as the provider signs.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { findJsonPath } from '../body/json-path.ts'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import type { ResolvedConfig } from '../gateway/config/schema.ts'
import { listProviders } from '../gateway/build-sources.ts'
import type { Delivery } from '../index.ts'
import { didYouMean } from '../options/did-you-mean.ts'
import type { HmacOptions } from '../providers/index.ts'
import { sign } from '../testing/index.ts'
import type { SignableProvider, SignedEvent } from '../testing/index.ts'

/** Which event, and where it goes. */
export interface TriggerTarget {
  readonly source: string
  readonly type: string | undefined
  readonly url: string
}

/** What is changed about it. */
export interface TriggerChanges {
  readonly set: readonly string[]
  readonly id: string | undefined
  /** Instead of the one that the source has; `env:NAME` stands for a variable. */
  readonly secret: string | undefined
  readonly isForged: boolean
  readonly isOld: boolean
  /** The payload as it shall be sent. */
  readonly body: Uint8Array | undefined
}

const DAY_MS = 86_400_000

/** @throws HookonceError CONFIG_INVALID; OptionInvalidError */
export function draftTrigger(
  config: Pick<ResolvedConfig, 'sources'>,
  { source, type, url }: TriggerTarget,
  changes: TriggerChanges,
): Delivery {
  const { provider, options } = findSender(config, source, changes)
  const { pathname, search } = new URL(url)
  const event: SignedEvent = {
    ...(type !== undefined && { type }),
    ...(changes.id !== undefined && { key: changes.id }),
    ...(changes.isOld && { at: new Date(Date.now() - DAY_MS) }),
    url: pathname + search,
  }
  const signed = (one: SignedEvent): Delivery => {
    try {
      return signAs(provider, one, options, url)
    } catch (error) {
      if (!(error instanceof OptionInvalidError) || 'body' in one || one.type === undefined)
        throw error
      // There is no sample of this type: one of another, with this type in it, is better than none.
      const { type: _type, ...rest } = one
      return signAs(
        provider,
        { ...one, body: parseBody(signAs(provider, rest, options, url).body) },
        options,
        url,
      )
    }
  }
  if (changes.body !== undefined) return signed({ ...event, body: changes.body })
  if (changes.set.length === 0) return signed(event)
  return signed({ ...event, body: change(signed(event).body, changes.set) })
}

interface Sender {
  readonly provider: string
  readonly options: Record<string, unknown> & { readonly secrets: readonly string[] }
}

function findSender(
  { sources }: Pick<ResolvedConfig, 'sources'>,
  name: string,
  { secret, isForged }: TriggerChanges,
): Sender {
  const given = sources[name]
  if (given === undefined && secret === undefined) {
    const known = Object.keys(sources)
    throw invalid(
      `There is no source "${name}"${didYouMean(name, known)} There are: ${known.join(', ') || 'none'}. A provider can be named as well, with --secret and --to`,
    )
  }
  const { provider = name, forward: _routes, secrets = [], ...others } = given ?? {}
  if (typeof provider === 'function')
    throw invalid(`The provider of "${name}" is a function of yours, which cannot sign`)
  if (!listProviders().has(provider))
    throw invalid(
      `There is no provider "${provider}"${didYouMean(provider, listProviders().keys())}`,
    )
  const texts = secrets.map((each) => (typeof each === 'string' ? each : each.value))
  const own = secret === undefined ? texts : [readSecret(secret)]
  return { provider, options: { ...others, secrets: isForged ? own.map(anotherSecret) : own } }
}

function readSecret(text: string): string {
  if (!text.startsWith('env:')) return text
  const found = process.env[text.slice('env:'.length)]
  if (found !== undefined && found !== '') return found
  throw invalid(`The environment variable ${text.slice('env:'.length)} is not set`)
}

/** As long, in the same letters, and with what comes first: it must fail by its signature and not by its shape. */
function anotherSecret(secret: string): string {
  const prefix = /^[a-z]+_/.exec(secret)?.[0] ?? ''
  return (
    prefix +
    randomBytes(secret.length)
      .toString('hex')
      .slice(0, secret.length - prefix.length)
  )
}

function signAs(
  provider: string,
  event: SignedEvent,
  { secrets, ...options }: Sender['options'],
  url: string,
): Delivery {
  if (provider === 'hmac')
    return sign('hmac', event, { ...options, secrets } as unknown as HmacOptions)
  const texts = Object.entries(options).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const [secret] = secrets
  // The name in a config is not always that of the function: `standard_webhooks`, and `standardWebhooks`.
  return sign(listProviders().get(provider) as unknown as SignableProvider, event, {
    ...(secret !== undefined && { secret }),
    publicUrl: typeof options['publicUrl'] === 'string' ? options['publicUrl'] : url,
    options: Object.fromEntries(texts.filter(([name]) => name !== 'publicUrl')),
  })
}

/** Each `$.path=value`; a value is JSON, or else a text. */
function change(body: Uint8Array, changes: readonly string[]): unknown {
  const payload = parseBody(body)
  for (const text of changes) {
    const at = text.indexOf('=')
    const path = findJsonPath(text.slice(0, Math.max(0, at)))
    if (path === undefined || path.length === 0)
      throw invalid('--set must be a path and a value, such as $.data.object.amount=100')
    setAt(payload, path, parseValue(text.slice(at + 1)))
  }
  return payload
}

function parseBody(body: Uint8Array): object {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString())
    if (typeof parsed === 'object' && parsed !== null) return parsed
  } catch {
    // As below.
  }
  throw invalid('The payload of this provider is no JSON, which could be changed: use --file')
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

function setAt(payload: object, path: readonly (string | number)[], value: unknown): void {
  let target = payload as Record<string | number, unknown>
  for (const step of path.slice(0, -1)) {
    const next = Object.hasOwn(target, step) ? target[step] : undefined
    if (typeof next !== 'object' || next === null) target[step] = {}
    target = target[step] as Record<string | number, unknown>
  }
  Object.defineProperty(target, path.at(-1) as string | number, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

function invalid(message: string): HookonceError {
  return new HookonceError('CONFIG_INVALID', message)
}
