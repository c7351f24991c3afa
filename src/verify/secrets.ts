/**
 * From the secrets a caller gives to the keys a signature is checked with.
 *
 * An empty key is the dangerous one: HMAC takes it without complaint, and then every forger can sign. So
 * a missing secret, an empty one, and one that decodes to no bytes are refused here, at
 * construction, and nothing behind this file ever sees them.
 *
 * No message in this file carries any part of a secret.
 *
 * @module
 */

import { createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import type { SecretLabel } from '../model/secret-use.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { decodeBase64, decodeHex } from './decode.ts'

/** A signing secret, or a secret with a name and an end. */
export type Secret = string | LabelledSecret

/** A signing secret with a name and an end, for a rotation. */
export interface LabelledSecret {
  /** The secret, as the provider shows it. */
  readonly value: string
  /**
   * What is kept as evidence of which secret verified an event, and what its uses are counted under. A name such as
   * `2026-11`, of at most 100 characters; one that contains the secret is refused.
   *
   * @defaultValue its place in the list: '1', '2', …
   */
  readonly label?: string
  /**
   * The last moment at which it still verifies, for the old secret of a rotation.
   *
   * @defaultValue no end
   */
  readonly until?: Date
}

/**
 * How the text of a secret becomes the bytes of a key. `whsec` is base64 behind an optional
 * `whsec_`, as Standard Webhooks has it; Stripe's `whsec_…` is plain text and is `utf8`.
 */
export type SecretEncoding = 'utf8' | 'hex' | 'base64' | 'whsec' | SecretDecoder

/** Gives `undefined` for a text that is no secret. */
export type SecretDecoder = (text: string) => Buffer | undefined

export interface ResolvedSecret {
  readonly label: string
  /** A key object rather than bytes, so that printing a source prints no secret. */
  readonly key: KeyObject
  readonly untilMs: number
}

export interface ResolvedSecrets {
  readonly secrets: readonly ResolvedSecret[]
  readonly warnings: readonly string[]
}

const SECRET_BYTES_ADVISED = 16

export function resolveSecrets(
  provider: string,
  secrets: readonly Secret[] | undefined,
  encoding: SecretEncoding,
): ResolvedSecrets {
  if (secrets === undefined || secrets === null) throw missing(provider)
  if (!Array.isArray(secrets)) {
    throw new OptionInvalidError(`${provider}.secrets`, 'a list of secrets', secrets)
  }
  if (secrets.length === 0) throw missing(provider)

  const warnings: string[] = []
  const resolved = secrets.map((secret: Secret, index) => {
    const option = `${provider}.secrets[${index}]`
    const { value, label = String(index + 1), until } = requireSecret(provider, option, secret)
    const bytes = decodeSecret(provider, option, value, encoding)
    warnings.push(...listWarnings(provider, label, value, bytes))
    return Object.freeze({
      label,
      key: createSecretKey(bytes),
      untilMs: until === undefined ? Number.POSITIVE_INFINITY : until.getTime(),
    })
  })
  requireDistinctLabels(provider, resolved)
  return { secrets: Object.freeze(resolved), warnings }
}

/** What may be shown of them. */
export function listSecretLabels(secrets: readonly ResolvedSecret[]): readonly SecretLabel[] {
  return secrets.map(({ label, untilMs }) =>
    Object.freeze({ label, ...(untilMs !== Infinity && { until: new Date(untilMs) }) }),
  )
}

/** The labels of those whose bytes could be tried out by a stranger who has one delivery. */
export function listShortSecrets(secrets: readonly ResolvedSecret[]): readonly string[] {
  return secrets
    .filter(({ key }) => (key.symmetricKeySize ?? 0) < SECRET_BYTES_ADVISED)
    .map(({ label }) => label)
}

/** Whether a secret still verifies at this moment. A moment that is not a number is never live. */
export function isLive(secret: ResolvedSecret, nowMs: number): boolean {
  return nowMs <= secret.untilMs
}

function requireSecret(provider: string, option: string, secret: Secret): LabelledSecret {
  // What an unset environment variable gives, in either shape.
  if (secret === undefined || secret === null || secret === '') throw missing(provider)
  if (typeof secret === 'string') return { value: secret }
  if (typeof secret !== 'object') {
    throw new OptionInvalidError(option, 'a string or { value, label, until }', secret)
  }

  rejectUnknownKeys(option, secret, ['value', 'label', 'until'])
  const { value, label, until } = secret
  if (value === undefined || value === null || value === '') throw missing(provider)
  if (typeof value !== 'string') throw new OptionInvalidError(`${option}.value`, 'a string', value)
  if (label !== undefined) requireLabel(`${option}.label`, label, value)
  if (until !== undefined && !(until instanceof Date && Number.isFinite(until.getTime()))) {
    throw new OptionInvalidError(`${option}.until`, 'a valid Date', until)
  }
  return secret
}

const LABEL_LENGTH_MAX = 100

/** It is stored, listed and logged, so it must not be the secret. */
function requireLabel(option: string, label: unknown, value: string): void {
  const isName =
    typeof label === 'string' &&
    label !== '' &&
    label.length <= LABEL_LENGTH_MAX &&
    // What is printed to a terminal must not steer it.
    !/[\u0000-\u001f\u007f]/.test(label)
  if (!isName) {
    const expected = `a string of 1 to ${LABEL_LENGTH_MAX} characters, none of them a control character`
    throw new OptionInvalidError(option, expected, label)
  }
  if (!label.includes(value)) return
  throw new OptionInvalidError(option, {
    message: `${option} contains the secret; a label is stored and shown, so give it another name`,
  })
}

function decodeSecret(
  provider: string,
  option: string,
  value: string,
  encoding: SecretEncoding,
): Buffer {
  const bytes = decodeSecretText(value, encoding)
  if (bytes === undefined) {
    const shape = typeof encoding === 'string' ? SECRET_SHAPES[encoding] : 'as the sender shows it'
    throw new OptionInvalidError(option, shape, value)
  }
  if (bytes.byteLength === 0) throw missing(provider)
  return bytes
}

const SECRET_SHAPES: Readonly<Record<Exclude<SecretEncoding, SecretDecoder>, string>> = {
  utf8: 'text',
  hex: 'hex digits, two for each byte',
  base64: 'base64',
  whsec: 'whsec_ followed by base64',
}

/** The bytes of a secret's text, or `undefined` when it is no text of that encoding. */
export function decodeSecretText(value: string, encoding: SecretEncoding): Buffer | undefined {
  if (typeof encoding === 'function') return encoding(value)
  switch (encoding) {
    case 'utf8':
      return Buffer.from(value, 'utf8')
    case 'hex':
      return decodeHex(value.toLowerCase())
    case 'base64':
      return decodeBase64(padded(value))
    case 'whsec':
      return decodeBase64(padded(value.startsWith('whsec_') ? value.slice(6) : value))
  }
}

/** Secrets are pasted by people and often lose their padding; signatures are not, and may not. */
function padded(base64: string): string {
  return base64.endsWith('=') ? base64 : base64.padEnd(Math.ceil(base64.length / 4) * 4, '=')
}

function listWarnings(
  provider: string,
  label: string,
  value: string,
  bytes: Uint8Array,
): readonly string[] {
  const warnings: string[] = []
  if (bytes.byteLength < SECRET_BYTES_ADVISED) {
    warnings.push(
      `Secret ${label} of ${provider} has fewer than ${SECRET_BYTES_ADVISED} bytes and could be guessed; use a longer one.`,
    )
  }
  if (value.trim() !== value) {
    warnings.push(
      `Secret ${label} of ${provider} begins or ends with white space, which takes part in the signature; it may have been copied with it.`,
    )
  }
  return warnings
}

function requireDistinctLabels(provider: string, secrets: readonly ResolvedSecret[]): void {
  const labels = new Set(secrets.map(({ label }) => label))
  if (labels.size === secrets.length) return
  throw new OptionInvalidError(
    `${provider}.secrets`,
    'a list in which no two secrets share a label',
    secrets,
  )
}

function missing(provider: string): HookonceError {
  return new HookonceError(
    'SECRET_MISSING',
    `${provider} has no secret: pass secrets: ['…'] with the signing secret that the sender shows, and check that the environment variable it comes from is set`,
  )
}
