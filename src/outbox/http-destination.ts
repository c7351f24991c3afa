/**
 * A destination over HTTP: one POST, signed as Standard Webhooks says if there is a secret, with the
 * idempotency key in a header of its own.
 *
 * @module
 */

import { blockedError } from '../egress/blocked-error.ts'
import { bareHost } from '../egress/check-url.ts'
import { Egress } from '../egress/egress.ts'
import type { CreateHttpClient } from '../egress/http-client.ts'
import type { EgressOptions } from '../egress/options.ts'
import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { Message } from '../model/message.ts'
import type { InputOf, StandardSchema } from '../model/standard-schema.ts'
import { describeError, requireDestinationName } from './destination.ts'
import type { Destination, SendContext, SendFailed, SendResult } from './destination.ts'
import { requireHeader } from './draft-message.ts'
import { DESTINATION_DEFAULTS, DESTINATION_OPTION_NAMES, resolveDestination } from './options.ts'
import type { DestinationOptions } from './options.ts'
import { readResponse } from './read-response.ts'
import { readSecret, signMessage, webhookId } from './sign-message.ts'

/** How messages are sent over HTTP, beside what every destination has. */
export interface HttpDestinationOptions<
  Schema extends StandardSchema = StandardSchema,
> extends DestinationOptions<Schema> {
  /** Where to. `https:`, and a public host, unless `allow` names it. */
  readonly url: string
  /** Signs as Standard Webhooks says. Several while one is being replaced. Left out, nothing is signed. */
  readonly secrets?: readonly string[]
  /** Sent with every message; what is in them is kept out of the database. For credentials. Left out, none. */
  readonly headers?: Readonly<Record<string, string>>
  /** What may be reached although it is not public, or without TLS: hosts, addresses, ranges. Left out, nothing. */
  readonly allow?: readonly string[]
  /**
   * How long nothing may happen on the connection.
   *
   * @defaultValue 10_000
   */
  readonly idleTimeoutMs?: number
  /** How names are resolved, in the shape of `dns.lookup` with `all`. Left out, as the system does. */
  readonly resolve?: EgressOptions['resolve']
  /**
   * What speaks HTTP. Left out, Node's own client.
   *
   * @internal
   */
  readonly client?: CreateHttpClient
}

/**
 * A destination over HTTP: one POST for each attempt, with the message's idempotency key, signed if there are
 * `secrets`. Only public addresses are connected to, over TLS, unless `allow` names others; redirects are not
 * followed.
 *
 * @throws DestinationBlockedError for a URL that may not be connected to
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function httpDestination<
  const Name extends string,
  Schema extends StandardSchema = StandardSchema,
>(name: Name, options: HttpDestinationOptions<Schema>): Destination<Name, InputOf<Schema>> {
  requireDestinationName(name)
  const path = `httpDestination(${JSON.stringify(name)})`
  rejectUnknownKeys(path, options, OPTION_NAMES)
  const {
    url,
    secrets = [],
    headers = {},
    allow,
    idleTimeoutMs,
    resolve,
    client,
    ...others
  } = options
  const { policy, schema } = resolveDestination(path, others)
  const egressOptions = {
    requestTimeoutMs: policy.timeoutMs ?? DESTINATION_DEFAULTS.timeoutMs,
    ...(allow !== undefined && { allow }),
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    ...(resolve !== undefined && { resolve }),
  }
  const egress = new Egress(egressOptions, path, client)
  requireUrl(path, egress, url)
  const sender: HttpSender = {
    url,
    egress,
    headers: readOwnHeaders(path, headers),
    signingKeys: readSecrets(path, secrets),
    secretTexts: [...secrets, ...Object.values(headers)].filter((text) => text.length >= 8),
    // A kept connection that the other side is just closing cannot be told from one that took the
    // request. Where keys are ignored that is worth a connection for each message.
    keepsAlive: policy.keys === 'honoured',
  }
  return {
    name,
    policy,
    schema,
    send: async (message, context) => post(sender, message, context),
    close: () => egress.close(),
  }
}

const OPTION_NAMES = [
  'url',
  'secrets',
  'headers',
  'allow',
  'idleTimeoutMs',
  'resolve',
  'client',
  ...DESTINATION_OPTION_NAMES,
]

interface HttpSender {
  readonly url: string
  readonly egress: Egress
  readonly headers: Readonly<Record<string, string>>
  readonly signingKeys: readonly Buffer[]
  /** What must not be kept of an answer. */
  readonly secretTexts: readonly string[]
  readonly keepsAlive: boolean
}

async function post(
  sender: HttpSender,
  message: Message,
  context: SendContext,
): Promise<SendResult> {
  // No signal: the request has the attempt's time for its own, and ends when the connections are closed.
  const outcome = await sender.egress.request({
    url: sender.url,
    method: 'POST',
    headers: headersOf(sender, message, context),
    body: message.body,
  })
  switch (outcome.outcome) {
    case 'answered':
      return readResponse(outcome, sender.secretTexts)
    case 'blocked':
      return {
        ...FAILED,
        reason: 'blocked',
        message: `blocked destination: ${blockedError(outcome.host, outcome.reason).message}`,
        arrived: 'no',
        // A name that does not resolve may do so tomorrow; an address that is not public stays one.
        permanent: outcome.reason === 'unresolved' ? undefined : 'blocked destination',
      }
    case 'failed':
      return failedToSend(outcome.error, outcome.mayHaveArrived)
  }
}

const FAILED = { status: 'failed', answered: false } as const

function failedToSend(error: Error, mayHaveArrived: boolean): SendFailed {
  const message = describeError(error)
  if (!mayHaveArrived) return { ...FAILED, reason: 'unreachable', message, arrived: 'no' }
  const reason = error.name === 'TimeoutError' ? 'timeout' : 'interrupted'
  return { ...FAILED, reason, message, arrived: 'maybe' }
}

function headersOf(
  { headers, signingKeys, keepsAlive }: HttpSender,
  message: Message,
  { idempotencyKey, attempt }: SendContext,
): Record<string, string> {
  const id = webhookId(message.key)
  const timestamp = Math.floor(Date.now() / 1_000)
  return {
    'user-agent': 'hookonce',
    ...message.headers,
    ...headers,
    'content-type': message.contentType,
    'idempotency-key': idempotencyKey,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    // Not signed: Standard Webhooks signs id, time and body. It is for logs, and decides nothing.
    'hookonce-attempt': String(attempt),
    ...(signingKeys.length > 0 && {
      'webhook-signature': signMessage(signingKeys, { id, timestamp, body: message.body }),
    }),
    ...(!keepsAlive && { connection: 'close' }),
  }
}

function requireUrl(path: string, egress: Egress, url: unknown): void {
  if (typeof url !== 'string') throw new OptionInvalidError(`${path}.url`, 'a URL', url)
  const checked = egress.check(url)
  if (checked.ok) return
  const host = URL.canParse(url) ? bareHost(new URL(url)) : ''
  throw blockedError(host, checked.reason)
}

function readSecrets(path: string, secrets: readonly string[]): readonly Buffer[] {
  if (!Array.isArray(secrets))
    throw new OptionInvalidError(`${path}.secrets`, 'a list of secrets', secrets)
  return secrets.map((secret, index) => readSecret(`${path}.secrets.${index}`, secret))
}

function readOwnHeaders(
  path: string,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new OptionInvalidError(`${path}.headers`, 'an object of headers', given)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    requireHeader(name.toLowerCase(), value)
    headers[name.toLowerCase()] = value
  }
  return headers
}
