/**
 * From what was said on the command line to a delivery that is signed as the provider signs.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { findJsonPath } from '../body/json-path.ts'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import type { ResolvedConfig } from '../gateway/config/schema.ts'
import { listProviders } from '../gateway/build-sources.ts'
import type { Delivery } from '../index.ts'
import { didYouMean } from '../options/did-you-mean.ts'
import type { HmacOptions, ProviderDefinition } from '../providers/index.ts'
import { sign } from '../testing/index.ts'
import type { SignableProvider, SignedEvent } from '../testing/index.ts'
import { readReference } from './read-reference.ts'
import { anotherPrivateKey, findOldTime, requireSigner } from './trigger-scheme.ts'

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
  /** Instead of the one that the source has, or a reference to it. */
  readonly secret: string | undefined
  /** For a source that has a public key, certificate or JSON Web Key. */
  readonly privateKey: KeyObject | undefined
  readonly isForged: boolean
  readonly isOld: boolean
  /** The payload as it shall be sent. */
  readonly body: Uint8Array | undefined
}

/** @throws HookonceError CONFIG_INVALID; OptionInvalidError */
export function draftTrigger(
  config: Pick<ResolvedConfig, 'sources'>,
  { source, type, url }: TriggerTarget,
  changes: TriggerChanges,
): Delivery {
  const sender = findSender(config, source, changes)
  const { pathname, search } = new URL(url)
  const event: SignedEvent = {
    ...(type !== undefined && { type }),
    ...(changes.id !== undefined && { key: changes.id }),
    ...(changes.isOld && { at: findOldTime(sender) }),
    url: pathname + search,
  }
  const signed = (one: SignedEvent): Delivery => {
    try {
      return signAs(sender, one, url)
    } catch (error) {
      if (!(error instanceof OptionInvalidError)) throw error
      if ('body' in one) throw saidByFile(error)
      if (one.type === undefined) throw error
      // There is no sample of this type: one of another, with this type in it, is better than none.
      const { type: _type, ...rest } = one
      return signAs(sender, { ...one, body: parseBody(signAs(sender, rest, url).body) }, url)
    }
  }
  const isChanged = changes.set.length > 0
  if (isChanged && changes.body !== undefined && parse(changes.body) === undefined)
    throw invalid('--set changes an object or a list of JSON, and the payload of --file is neither')
  if (changes.body === undefined)
    return signed(isChanged ? { ...event, body: change(signed(event).body, changes.set) } : event)
  const body = isChanged ? change(changes.body, changes.set) : changes.body
  return signed({ ...event, body })
}

/** What `sign` says of a body that is no object, in the words of the flags. */
function saidByFile(error: OptionInvalidError): OptionInvalidError {
  const flag = { 'sign.type': 'the type', 'sign.key': '--id' }[error.option]
  if (flag === undefined) return error
  return new OptionInvalidError('--file', {
    message: `--file: its payload says something else than ${flag}. Leave ${flag} out, or change the payload with --set`,
  })
}

interface Sender {
  readonly provider: string
  /** Undefined for `hmac`. */
  readonly verify: ProviderDefinition['verify'] | undefined
  readonly options: Record<string, unknown> & { readonly secrets: readonly string[] }
  readonly privateKey: KeyObject | undefined
}

function findSender(
  { sources }: Pick<ResolvedConfig, 'sources'>,
  name: string,
  { secret, privateKey, isForged }: TriggerChanges,
): Sender {
  const given = sources[name]
  if (given === undefined && secret === undefined && privateKey === undefined) {
    const known = Object.keys(sources)
    throw invalid(
      `There is no source "${name}"${didYouMean(name, known)} There are: ${known.join(', ') || 'none'}. A provider can be named as well, with --to and --secret or --private-key`,
    )
  }
  const { provider = name, forward: _routes, secrets = [], ...others } = given ?? {}
  if (typeof provider === 'function')
    throw invalid(`The provider of "${name}" is a function of yours, which cannot sign`)
  if (!listProviders().has(provider))
    throw invalid(
      `There is no provider "${provider}"${didYouMean(provider, listProviders().keys())}`,
    )
  if (provider === 'unsigned')
    throw invalid(
      `"${name}" is unsigned: nothing is signed, and where its id and type stand is its own. Send it a request with any client, such as curl`,
    )
  if (secret !== undefined && privateKey !== undefined)
    throw invalid('--secret and --private-key: an event is signed with one of them')
  const own = secret === undefined ? findSecrets(secrets, others) : [readSecret(secret)]
  const { definition } = listProviders().get(provider) as { definition?: ProviderDefinition }
  const verify = definition?.verify
  requireSigner(
    { provider, verify, options: others },
    { secrets: own, ...(privateKey !== undefined && { privateKey }) },
  )
  return {
    provider,
    verify,
    options: { ...others, secrets: isForged ? own.map(anotherSecret) : own },
    privateKey: privateKey && isForged ? anotherPrivateKey(privateKey) : privateKey,
  }
}

type GivenSecrets = NonNullable<ResolvedConfig['sources'][string]['secrets']>

/** A name and a password may stand beside each other as well. */
function findSecrets(
  secrets: GivenSecrets,
  { username, password }: Readonly<Record<string, unknown>>,
): readonly string[] {
  if (typeof username === 'string' && typeof password === 'string')
    return [`${username}:${password}`]
  return secrets.map((each) => (typeof each === 'string' ? each : each.value))
}

function readSecret(text: string): string {
  return readReference({ environment: process.env, folder: process.cwd() }, '--secret', text)
}

/**
 * As long, with what comes first, and with the signs between its parts, such as the colon of a name and a password: it
 * must fail by its signature and not by its shape.
 */
function anotherSecret(secret: string): string {
  const prefix = /^[a-z]+_/.exec(secret)?.[0] ?? ''
  const letters = randomBytes(secret.length).toString('hex')
  return secret.replace(/[\da-z]/gi, (letter, at: number) =>
    at < prefix.length ? letter : (letters[at] as string),
  )
}

function signAs(
  { provider, options: { secrets, ...options }, privateKey }: Sender,
  event: SignedEvent,
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
    ...(privateKey !== undefined && { privateKey }),
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
  const parsed = parse(body)
  if (parsed !== undefined) return parsed
  throw invalid('The payload of this provider is no JSON, which could be changed: use --file')
}

/** An object or a list, which has something to be changed. */
function parse(body: Uint8Array): object | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString())
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
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
