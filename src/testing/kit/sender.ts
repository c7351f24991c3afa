/**
 * The senders of a test: deliveries that are signed as each of them would sign, with a payload that fits the type.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { OptionInvalidError } from '../../errors.ts'
import { didYouMean } from '../../options/did-you-mean.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { EventMap, Source } from '../../model/source.ts'
import type { HmacOptions, Provider } from '../../providers/index.ts'
import type { Credentials, ProviderFixture } from '../fixture.ts'
import { madeUpConfiguration } from '../made-up-configuration.ts'
import { isReadFromHeaders } from '../place-identity.ts'
import { requireFixture, sign, signFixture } from '../sign.ts'
import type { SignableProvider } from '../sign.ts'
import type { SignedEvent } from '../signed-event.ts'
import type { Delivered, DeliverOptions } from './deliver.ts'

/**
 * Signs a delivery as the sender would. Its `body` is the payload that the test gave, and in a retry the bytes that were
 * sent before.
 */
export type SignDelivery = (event: SignedEvent) => Delivery

/**
 * What the kit signs the deliveries of a source with: its secret or private key, the options of `hmac`, or a function
 * of yours.
 */
export type SenderCredentials = Credentials | HmacOptions | SignDelivery

/** A source, or a provider: then the kit makes up a secret. */
export type GivenSource =
  | Omit<Source, 'eventTypes'>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a provider's options are its own
  | Provider<any, any>

/** The source that is made of a provider. */
export type SourceFrom<Given> = Given extends {
  (options: infer _Options): Source<infer Events>
  readonly definition: unknown
}
  ? object extends Events
    ? Source<DefaultsOf<Given>>
    : Source<Events>
  : Given

type DefaultsOf<Given> = Given extends { readonly eventTypes?: infer Defaults }
  ? NonNullable<Defaults> extends EventMap
    ? NonNullable<Defaults>
    : never
  : never

export interface Sender {
  readonly source: Source
  /** Undefined for a source that the test did not say how to sign for. */
  readonly sign: SignDelivery | undefined
  /** The same for a body that was sent before, which is left as it is. */
  readonly resign: SignDelivery | undefined
  /** Where the id of an event is written, if it can be. A function is given it beside the body, as a header is. */
  readonly keyPlace: 'header' | 'body' | undefined
  /** Sample payloads, by type. */
  readonly fixture: ProviderFixture | undefined
}

export function makeSender(
  name: string,
  given: GivenSource,
  credentials: SenderCredentials | undefined,
): Sender {
  if (typeof given === 'function' && 'definition' in given)
    return senderOf(name, given as Provider<object>, credentials)
  if (typeof given !== 'object' || given === null)
    throw new OptionInvalidError(
      `testInbox.sources.${name}`,
      'a provider such as stripe, or a source of yours',
      given,
    )
  const source = given as Source
  if (typeof credentials === 'function')
    return {
      source,
      sign: credentials,
      resign: credentials,
      keyPlace: 'header',
      fixture: undefined,
    }
  const fixture = findFixture(source.provider)
  if (credentials === undefined)
    return { source, sign: undefined, resign: undefined, keyPlace: undefined, fixture }
  if (source.provider === 'hmac') return hmacSender(source, credentials as HmacOptions)
  return signedSender(name, source, { fixture, credentials: credentials as Credentials })
}

function senderOf(
  name: string,
  provider: Provider<object>,
  credentials: SenderCredentials | undefined,
): Sender {
  if (credentials !== undefined)
    throw new OptionInvalidError(
      `testInbox.credentials.${name}`,
      'left out for a provider: its secret is made up. Give the source that has your secret in place of the provider',
      credentials,
    )
  const fixture = findFixture(provider)
  const { options, credentials: own } =
    fixture?.configuration?.() ?? madeUpConfiguration(provider.definition.verify, 0)
  return signedSender(name, provider(options), { fixture, credentials: own })
}

function signedSender(
  name: string,
  source: Source,
  parts: { readonly fixture: ProviderFixture | undefined; readonly credentials: Credentials },
): Sender {
  const { fixture, credentials } = parts
  if (fixture === undefined)
    throw new OptionInvalidError(`testInbox.credentials.${name}`, {
      message: `testInbox.credentials.${name}: the kit has no sample of ${source.provider}. Give the source that has your secret, and what signs for it: sources: { ${name}: yourProvider({ secrets: [secret] }) }, credentials: { ${name}: (event) => sign(yourFixture, event, { secret }) }`,
    })
  return {
    source,
    sign: (event) => sign(fixture, event, credentials),
    resign: (event) => signFixture(fixture, event, credentials),
    keyPlace: isReadFromHeaders(fixture.provider.definition.key) ? 'header' : 'body',
    fixture,
  }
}

function hmacSender(source: Source, options: HmacOptions): Sender {
  const [keyPlace = 'body'] = [options.key].flat()
  const signs: SignDelivery = (event) => sign('hmac', event, options)
  return {
    source,
    sign: signs,
    // The key and the type that stand in a body that was sent before are compared with what is asked for.
    resign: signs,
    keyPlace: keyPlace.startsWith('header:')
      ? 'header'
      : keyPlace.startsWith('json:')
        ? 'body'
        : undefined,
    fixture: undefined,
  }
}

function findFixture(
  provider: string | { readonly definition: unknown },
): ProviderFixture | undefined {
  try {
    return requireFixture(provider as SignableProvider)
  } catch {
    return undefined
  }
}

/**
 * A delivery of an event, and what signs it once more.
 *
 * @throws OptionInvalidError for a source that the kit cannot sign for, a type without a sample, and an id that cannot be
 * written into the payload
 */
export function makeDelivery(
  source: string,
  event: { readonly sender: Sender; readonly type: string; readonly options: DeliverOptions },
): Pick<Delivered, 'source' | 'type' | 'key' | 'first' | 'again'> {
  const { sender, type, options } = event
  const { id, payload, headers, at = new Date() } = options
  const { sign: signs, resign } = requireSign(source, sender)
  if (payload === undefined) requireSample(source, sender, type)
  // An id can be written into an object. A text and bytes have their own.
  const isText =
    payload !== undefined && (typeof payload !== 'object' || ArrayBuffer.isView(payload))
  const isNamed = sender.keyPlace === 'header' || (sender.keyPlace === 'body' && !isText)
  const key = id ?? (isNamed ? (sender.fixture?.freshKey?.() ?? randomUUID()) : undefined)
  const named = key === undefined ? { type } : { type, key }
  const body =
    payload === undefined ? {} : { body: payloadFor(sender, { type, key: key ?? '', at }, payload) }
  const more = headers === undefined ? {} : { headers }
  const isLeftAsItIs = isText && (id === undefined || sender.keyPlace === 'header')
  const first = (isLeftAsItIs ? resign : signs)({ ...named, at, ...body, ...more })
  // A retry has the same body and a signature of its own, with a time of its own.
  const again = () => resign({ ...named, body: Buffer.from(first.body), ...more })
  return { source, type, key: key ?? '', first, again }
}

/** @throws OptionInvalidError for a source that the kit cannot sign for */
export function requireSign(
  name: string,
  { sign: signs, resign }: Sender,
): { readonly sign: SignDelivery; readonly resign: SignDelivery } {
  if (signs !== undefined && resign !== undefined) return { sign: signs, resign }
  throw new OptionInvalidError(`testInbox.credentials.${name}`, {
    message: `testInbox.credentials.${name}: the kit does not know the secret of this source. Give the provider itself as source, and a secret is made up; or give credentials: { ${name}: { secret } }, for hmac its options, for a source that verifies nothing a function that makes the delivery`,
  })
}

/** @throws OptionInvalidError for a type that there is no sample of */
function requireSample(name: string, { fixture }: Sender, type: string): void {
  if (fixture === undefined || Object.hasOwn(fixture.events, type)) return
  const types = Object.keys(fixture.events)
  throw new OptionInvalidError('deliver.type', {
    message: `deliver: the kit has no sample of ${JSON.stringify(type)} from ${name}${didYouMean(type, types)} There are: ${types.join(', ')}. Of another type give the whole payload: { payload: { … } }`,
  })
}

/**
 * The sample payload of the type with the test's own values in it, object by object; a list or a value takes the place
 * of what is there.
 */
function payloadFor(
  { fixture }: Sender,
  event: { readonly type: string; readonly key: string; readonly at: Date },
  payload: unknown,
): unknown {
  const sample = asValue(fixture?.events[event.type]?.(event).body)
  if (sample === undefined) return payload
  // Of a sender that always sends a list, the one event in it.
  if (Array.isArray(sample) && sample.length === 1 && isPlainObject(payload))
    return [merge(sample[0], payload)]
  return merge(sample, payload)
}

/** Some samples are JSON as the sender writes it. */
function asValue(sample: unknown): unknown {
  if (typeof sample !== 'string') return sample
  try {
    return JSON.parse(sample) as unknown
  } catch {
    return sample
  }
}

function merge(sample: unknown, own: unknown): unknown {
  if (!isPlainObject(sample) || !isPlainObject(own)) return own
  const merged: Record<string, unknown> = { ...sample }
  for (const [name, value] of Object.entries(own))
    merged[name] = Object.hasOwn(sample, name) ? merge(sample[name], value) : value
  return merged
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}
