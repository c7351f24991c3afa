/**
 * The senders of a test: deliveries that are signed as each of them would sign, with a payload that fits the type.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { EventMap, Source } from '../../model/source.ts'
import type { HmacOptions, Provider } from '../../providers/index.ts'
import type { Credentials, ProviderFixture } from '../fixture.ts'
import { madeUpConfiguration } from '../made-up-configuration.ts'
import { requireFixture, sign } from '../sign.ts'
import type { SignableProvider } from '../sign.ts'
import type { SignedEvent } from '../signed-event.ts'

/** Signs a delivery as the sender would. */
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
  /** Sample payloads, by type. */
  readonly fixture: ProviderFixture | undefined
}

export function makeSender(
  name: string,
  given: GivenSource,
  credentials: SenderCredentials | undefined,
): Sender {
  if (typeof given === 'function') return senderOf(name, given as Provider<object>, credentials)
  const source = given as Source
  if (typeof credentials === 'function') return { source, sign: credentials, fixture: undefined }
  const fixture = findFixture(source.provider)
  if (credentials === undefined) return { source, sign: undefined, fixture }
  if (source.provider === 'hmac') {
    const options = credentials as HmacOptions
    return { source, sign: (event) => sign('hmac', event, options), fixture: undefined }
  }
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
  const { options, credentials: own } = madeUpConfiguration(provider.definition.verify, 0)
  const fixture = findFixture(provider)
  return signedSender(name, provider(options), { fixture, credentials: own })
}

function signedSender(
  name: string,
  source: Source,
  parts: { readonly fixture: ProviderFixture | undefined; readonly credentials: Credentials },
): Sender {
  const { fixture, credentials } = parts
  if (fixture === undefined)
    throw new OptionInvalidError(
      `testInbox.credentials.${name}`,
      'a function that signs a delivery, since the kit has no sample of this provider',
      source.provider,
    )
  return { source, sign: (event) => sign(fixture, event, credentials), fixture }
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

/** @throws OptionInvalidError for a source that the kit cannot sign for */
export function requireSign(name: string, { sign: signs }: Sender): SignDelivery {
  if (signs !== undefined) return signs
  throw new OptionInvalidError(`testInbox.credentials.${name}`, {
    message: `testInbox.credentials.${name}: the kit does not know the secret of this source. Give the provider itself as source, and a secret is made up; or give credentials: { ${name}: { secret } }, for hmac its options`,
  })
}

/**
 * The sample payload of the type with the test's own values in it, object by object; a list or a value takes the place
 * of what is there.
 */
export function payloadFor(
  { fixture }: Sender,
  event: { readonly type: string; readonly key: string; readonly at: Date },
  payload: unknown,
): unknown {
  const sample = fixture?.events[event.type]?.(event).body
  return sample === undefined ? payload : merge(sample, payload)
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
