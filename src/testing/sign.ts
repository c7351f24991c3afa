/**
 * Deliveries of any provider, signed as the provider would sign them, from the provider's own
 * declaration.
 *
 * The signing here reads the same data as the verification and shares no code with it: were both one
 * function, a mistake in it would agree with itself.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { didYouMean } from '../options/did-you-mean.ts'
import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { Delivery } from '../model/delivery.ts'
import type { HmacOptions, ProviderDefinition } from '../providers/index.ts'
import type { Credentials, DeliveryDraft, FixtureContent, ProviderFixture } from './fixture.ts'
import { FIXTURES } from './fixtures/index.ts'
import { placeIdentity, requireIdentity } from './place-identity.ts'
import { signDraft } from './sign-draft.ts'
import { signHmac } from './sign-hmac.ts'
import type { SignedEvent } from './signed-event.ts'

/**
 * A delivery that a source of the provider with the matching options believes. A key and a type that are given are
 * put where the provider has them, also into a body that is an object.
 *
 * @param provider - the provider itself (`slack`), its name (`'slack'`), or a fixture of your own
 * @throws OptionInvalidError for a type without a sample payload where no body is given, and for a key or type that
 * cannot be put into the body that is
 */
export function sign(
  provider: SignableProvider,
  event: SignedEvent,
  credentials: Credentials,
): Delivery
/**
 * A delivery that a source of `hmac` with these options believes. Key and type are put where the options
 * say, also into a body that is an object.
 */
export function sign(provider: 'hmac', event: SignedEvent, options: HmacOptions): Delivery
export function sign(
  provider: SignableProvider | 'hmac',
  event: SignedEvent,
  credentials: Credentials | HmacOptions,
): Delivery {
  rejectUnknownKeys('sign', event, ['type', 'key', 'body', 'headers', 'at', 'method', 'url'])
  if (provider === 'hmac') return signHmac(event, credentials as HmacOptions)
  const fixture = requireFixture(provider)
  const delivery = signFixture(fixture, placeIdentity(fixture, event), credentials as Credentials)
  requireIdentity(fixture, event, delivery, credentials as Credentials)
  return delivery
}

/** The same with a body that is left as it is: key and type are where the fixture's headers have them. */
export function signFixture(
  fixture: ProviderFixture,
  event: SignedEvent,
  credentials: Credentials,
): Delivery {
  rejectUnknownKeys('sign', credentials, ['secret', 'privateKey', 'publicUrl', 'options'])
  const draft = draftDelivery(fixture, event)
  const signed = fixture.sign
    ? { ...draft, ...fixture.sign(draft, credentials) }
    : signDraft(fixture.provider.definition.verify, draft, credentials)
  const { method, url, headers, body, at } = signed
  return { method, url, headers: { ...headers, ...event.headers }, body, receivedAt: at }
}

/** Names of the providers whose deliveries can be signed. */
export type SignableName = keyof typeof FIXTURES

/** What `sign` can sign for: a provider, its name, or a fixture of your own. */
export type SignableProvider =
  SignableName | ProviderFixture | { readonly definition: ProviderDefinition }

export function requireFixture(provider: SignableProvider): ProviderFixture {
  const all: Readonly<Record<string, ProviderFixture>> = FIXTURES
  if (typeof provider === 'string') {
    if (Object.hasOwn(all, provider)) return all[provider] as ProviderFixture
    const message = `sign: there is no provider of this name${didYouMean(provider, Object.keys(all))}`
    throw new OptionInvalidError('sign', { message })
  } else if ('events' in provider) {
    return provider
  } else {
    const { definition } = provider
    const found = Object.values(all).find((one) => one.provider.definition === definition)
    if (found !== undefined) return found
  }
  throw new OptionInvalidError('sign', 'a provider with a fixture, or a fixture', provider)
}

function draftDelivery(fixture: ProviderFixture, event: SignedEvent): DeliveryDraft {
  const types = Object.keys(fixture.events)
  const {
    type = types[0] ?? 'unknown',
    key = (fixture.freshKey ?? randomUUID)(),
    at = new Date(),
  } = event
  const make = fixture.events[type] ?? fixture.events[types[0] ?? '']
  const content = make?.({ key, type, at }) ?? { body: {} }
  const { contentType = 'application/json', headers } = content
  return {
    method: event.method ?? 'POST',
    url: event.url ?? '/',
    headers: { 'content-type': contentType, ...headers, ...event.headers },
    body: writeBody('body' in event ? { ...content, body: event.body } : content),
    at,
    key,
  }
}

function writeBody({ body, contentType }: FixtureContent): Buffer {
  if (typeof body === 'string') return Buffer.from(body, 'utf8')
  if (body instanceof Uint8Array) return Buffer.from(body)
  if (contentType?.startsWith('application/x-www-form-urlencoded') === true) {
    return Buffer.from(new URLSearchParams(body as Record<string, string>).toString(), 'utf8')
  }
  return Buffer.from(JSON.stringify(body), 'utf8')
}
