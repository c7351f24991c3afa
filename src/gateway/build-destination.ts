/**
 * From what a config says of a destination to one of the library.
 *
 * @module
 */

import { asError, DestinationBlockedError, HookonceError } from '../errors.ts'
import { httpDestination } from '../index.ts'
import type { Destination } from '../index.ts'
import type { ResolvedDestinationConfig } from './config/schema.ts'
import { undiciClient } from './undici-client.ts'

/** @throws HookonceError CONFIG_INVALID for an address that must not be reached, and without a word on its signature; OptionInvalidError */
export function buildDestination(name: string, given: ResolvedDestinationConfig): Destination {
  const problem = findSignatureProblem(name, given)
  if (problem !== undefined) throw new HookonceError('CONFIG_INVALID', problem)
  return makeDestination(name, given)
}

/** Why it cannot be made as the config says, all of it at once. */
export function listDestinationProblems(
  name: string,
  given: ResolvedDestinationConfig,
): readonly string[] {
  const unsigned = findSignatureProblem(name, given)
  const problems = unsigned === undefined ? [] : [unsigned]
  try {
    makeDestination(name, given)
    return problems
  } catch (error) {
    const { message } = asError(error)
    const isPlaced = message.startsWith('destinations.')
    return [...problems, isPlaced ? message : `destinations.${name}: ${message}`]
  }
}

function makeDestination(name: string, given: ResolvedDestinationConfig): Destination {
  const { allowPrivate, unsigned: _said, url, secrets = [], headers = {}, ...others } = given
  const { keyLifetimeMs: _given, onUncertain, check, ...options } = others
  const keyLifetimeMs = keyLifetimeOf(others)
  try {
    return httpDestination(name, {
      url,
      secrets,
      headers,
      ...options,
      ...(keyLifetimeMs !== undefined && { keyLifetimeMs }),
      ...(onUncertain !== undefined && { onUncertain }),
      ...(check !== undefined && { check }),
      client: undiciClient,
      ...(allowPrivate && URL.canParse(url) && { allow: [new URL(url).hostname] }),
    })
  } catch (error) {
    if (error instanceof DestinationBlockedError) throw refusal(name, error, given)
    throw error
  }
}

/** A service behind a gateway is asked to remember for longer than the library assumes of an API. */
const KEY_LIFETIME_MS = 30 * 86_400_000

/** Nothing where keys are ignored: there is nothing that could be remembered. */
function keyLifetimeOf({
  keys,
  keyLifetimeMs,
}: Pick<ResolvedDestinationConfig, 'keys' | 'keyLifetimeMs'>): number | undefined {
  return keyLifetimeMs ?? (keys === 'honoured' ? KEY_LIFETIME_MS : undefined)
}

/** A secret that was forgotten shows nowhere: the service behind it would believe every stranger. */
function findSignatureProblem(
  name: string,
  { secrets = [], unsigned }: Pick<ResolvedDestinationConfig, 'secrets' | 'unsigned'>,
): string | undefined {
  const where = `destinations.${name}`
  if (secrets.length === 0 && !unsigned)
    return `${where}.secrets: there are none, so that nothing would be signed. Give one of at least 16 bytes, such as env:APP_SECRET, or set ${where}.unsigned to true`
  if (secrets.length > 0 && unsigned)
    return `${where}.unsigned: it is true, and there are secrets to sign with. Leave one of them out`
  return undefined
}

/** In the words of a config, whose user has no option `allow`. */
function refusal(
  name: string,
  error: DestinationBlockedError,
  { url, allowPrivate }: Pick<ResolvedDestinationConfig, 'url' | 'allowPrivate'>,
): HookonceError {
  const where = `destinations.${name}`
  return new HookonceError(
    'CONFIG_INVALID',
    `${where}.url: ${explain(where, error, url, allowPrivate)}`,
  )
}

function explain(
  where: string,
  { host, reason }: DestinationBlockedError,
  url: string,
  allowPrivate: boolean,
): string {
  const advice = `If this is meant, set ${where}.allowPrivate to true`
  switch (reason) {
    case 'url':
      return 'it is not a URL, such as https://app.example.com/webhooks'
    case 'credentials':
      return `it has a user name or a password in it, which would be in every log. Put them into ${where}.headers, as authorization`
    case 'scheme':
      return /^http:/i.test(url)
        ? `it begins with http:, so that others can read what is sent. ${advice}`
        : 'it must begin with https:, or with http: where allowPrivate is true'
    default:
      return `${host} is not connected to: ${reason}${allowPrivate ? '' : `. ${advice}`}`
  }
}
