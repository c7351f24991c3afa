/**
 * Senders that sign nothing and show a secret: in a header, in the URL, in the body, or as a password.
 * A person who has seen one delivery can make others, so all of it rests on TLS.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import { findHeader } from '../../model/delivery.ts'
import type { SourceOptions, Verdict, VerdictReason } from '../../model/source.ts'
import { decodeCredentials, findBasicCredentials } from '../../verify/basic-auth.ts'
import { isHeaderName } from '../../model/header-name.ts'
import { compileLocator, UnverifiedReading } from '../../body/json-path.ts'
import type { Locator } from '../../body/json-path.ts'
import { resolveSecrets } from '../../verify/secrets.ts'
import type { Secret } from '../../verify/secrets.ts'
import { findTokenOwner } from '../../verify/token.ts'
import type { Verification } from './verification.ts'

/** Where a shared token is. */
export interface TokenSpec {
  /** Where the token is: `header:x-token`, `query:token`, `json:$.passcode`. */
  readonly at: string
  /** What stands before it, such as `Bearer `. */
  readonly prefix?: string
  /** The option with the name of the header, for senders that let one choose it; `at` is the default. */
  readonly headerOption?: string
}

/** What a provider with a shared token is configured with. */
export interface TokenOptions extends SourceOptions {
  /** The tokens, as the sender shows them. Several for a rotation. */
  readonly secrets: readonly Secret[]
}

/** What a provider with a password is configured with: `secrets`, or `username` and `password`. */
export interface BasicAuthOptions extends SourceOptions {
  /** Each is `username:password`, neither of them empty. Several for a rotation. May be left out where the two below are given. */
  readonly secrets?: readonly Secret[]
  /** Without a colon. Left out with `password`, `secrets` alone count. */
  readonly username?: string
  /** What goes with `username`. Left out with it. */
  readonly password?: string
}

/**
 * A token that the sender shows with every delivery. Nothing is signed: a person who has seen one delivery
 * can make others.
 */
export function sharedToken(spec: TokenSpec): Verification {
  const usual = compileLocator('token', spec.at)
  return {
    kind: 'token',
    spec,
    summary: `a shared token (${spec.at}), compared in constant time; nothing is signed`,
    headers: usual.header === undefined ? [] : [usual.header],
    signedHeaders: [],
    signsBody: false,
    optionNames: ['secrets'],
    build({ provider, options }) {
      const place = findChosenHeader(provider, spec, options) ?? usual
      const given = options['secrets'] as readonly Secret[] | undefined
      const { secrets, warnings } = resolveSecrets(provider, given, 'utf8')
      const { prefix = '' } = spec
      const headers = place.header === undefined ? [] : [place.header]
      return {
        secrets,
        warnings,
        headers,
        secretHeaders: headers,
        verify(delivery) {
          const value = place.find(new UnverifiedReading(delivery))
          if (value === undefined) return refuse('missing-header')
          if (!value.startsWith(prefix)) return refuse('malformed-header')
          const nowMs = delivery.receivedAt.getTime()
          const shown = toBytes(value.slice(prefix.length), place.header !== undefined)
          const owner = findTokenOwner(secrets, shown, nowMs)
          return owner === undefined ? refuse('bad-token') : { ok: true, secret: owner }
        },
      }
    },
  }
}

/** A user and a password in `authorization`. Nothing is signed, as with `sharedToken`. */
export function basicAuth(): Verification {
  return {
    kind: 'basic',
    summary: 'HTTP basic authentication; nothing is signed',
    headers: ['authorization'],
    signedHeaders: [],
    signsBody: false,
    optionNames: ['secrets', 'username', 'password'],
    build({ provider, options }) {
      const { secrets, warnings } = resolveSecrets(
        provider,
        listCredentials(provider, options),
        decodeCredentials,
      )
      return {
        secrets,
        warnings,
        verify(delivery) {
          const header = findHeader(delivery, 'authorization')
          if (header === undefined) return refuse('missing-header')
          const credentials = findBasicCredentials(header)
          if (credentials === undefined) return refuse('malformed-header')
          const owner = findTokenOwner(secrets, credentials, delivery.receivedAt.getTime())
          return owner === undefined ? refuse('bad-token') : { ok: true, secret: owner }
        },
      }
    },
  }
}

function findChosenHeader(
  provider: string,
  { headerOption }: TokenSpec,
  options: Readonly<Record<string, unknown>>,
): Locator | undefined {
  const name = headerOption === undefined ? undefined : options[headerOption]
  if (name === undefined) return undefined
  if (typeof name !== 'string' || !isHeaderName(name.toLowerCase())) {
    throw new OptionInvalidError(`${provider}.${headerOption}`, 'the name of a header', name)
  }
  return compileLocator('token', `header:${name}`)
}

function listCredentials(
  provider: string,
  { secrets, username, password }: Readonly<Record<string, unknown>>,
): readonly Secret[] | undefined {
  if (username === undefined && password === undefined) return secrets as readonly Secret[]
  if (typeof username !== 'string' || username.includes(':')) {
    throw new OptionInvalidError(`${provider}.username`, 'text without a colon', username)
  }
  if (typeof password !== 'string') {
    throw new OptionInvalidError(`${provider}.password`, 'text', password)
  }
  const pair = { value: `${username}:${password}`, label: 'password' }
  return secrets === undefined ? [pair] : [pair, ...(secrets as readonly Secret[])]
}

/** A header holds one byte for each character; what comes out of a body or a URL is text. */
function toBytes(text: string, isHeader: boolean): Buffer {
  return Buffer.from(text, isHeader ? 'latin1' : 'utf8')
}

function refuse(reason: VerdictReason): Verdict {
  return { ok: false, reason }
}
