/**
 * A provider in a dozen declared lines: data first, code last.
 *
 *     export const acme: Provider<SecretOptions> = defineProvider({
 *       provider: 'acme',
 *       verify: hmacSignature({
 *         signature: 'header:x-acme-signature',
 *         algorithm: 'sha256',
 *         encoding: 'hex',
 *         signed: '{body}',
 *       }),
 *       key: 'json:$.id',
 *       type: 'json:$.type',
 *       occurredAt: 'json:$.created_at',
 *       retryWindowHours: 24,
 *     })
 *
 * What comes out is a function that takes the caller's options and gives a source.
 *
 * @module
 */

import { HookonceError, OptionInvalidError } from '../errors.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type {
  AnyEvents,
  EventMap,
  RefusalAnswer,
  SameBytesPolicy,
  Source,
  SourceOptions,
  SuccessAnswer,
  Verdict,
} from '../model/source.ts'
import { ClaimedJson } from '../body/claimed-json.ts'
import {
  defineSource,
  requireOptions,
  requireTolerance,
  SOURCE_OPTION_KEYS,
} from './define-source.ts'
import { compileHandshake } from './handshake.ts'
import type { HandshakeRule } from './handshake.ts'
import { compileIdentification } from './identification.ts'
import type { Identification, IdentitySpec } from './identification.ts'
import type { Verification } from './schemes/verification.ts'

/** Everything that is known of a provider, whatever its configuration. */
export interface ProviderDefinition extends IdentitySpec {
  /** The provider's slug: `stripe`, `aws_sns`. */
  readonly provider: string
  /** How its deliveries are verified: one of `schemes/`. */
  readonly verify: Verification
  /** Options of its own, beside those of its scheme. */
  readonly options?: Readonly<Record<string, OptionRule>>
  /** Headers that code of its own reads. More than one value of any is a 400. */
  readonly headers?: readonly string[]
  /**
   * The methods its events come with. Those of its handshakes are let in as well.
   *
   * @defaultValue ['POST']
   */
  readonly methods?: readonly string[]
  /** How it checks an endpoint before it uses it. Left out, it does not. */
  readonly handshake?: HandshakeRule | readonly HandshakeRule[]
  /**
   * What to do with known bytes under a new key.
   *
   * @defaultValue 'quarantine' where the body is signed and the key is in a header that is not, or in the
   * query, else 'run'
   */
  readonly sameBytes?: SameBytesPolicy
  /** @defaultValue 200 with a JSON body */
  readonly success?: Partial<SuccessAnswer>
  /** @defaultValue 401 with a JSON body */
  readonly refusal?: RefusalAnswer
  /**
   * The largest body it sends, by its documents, where that is more than a mebibyte. A sender that does
   * not come again after a 413 loses what it sends beyond the limit.
   *
   * @defaultValue what the caller's `receive.bodyBytesMax` says
   */
  readonly bodyBytesMax?: number
  /** How long it goes on retrying by itself; `null` when that is not known. Sizes the retention of keys. */
  readonly retryWindowHours: number | null
  /**
   * For how long after that a person can have it deliver again, by its documents.
   *
   * @defaultValue 72
   */
  readonly manualRedeliveryHours?: number
  /** How long it waits for an answer; `null` when that is not known. */
  readonly timeoutSeconds?: number | null
  /** Things to say at boot, by the options: weak spots of a mode that was chosen. */
  readonly warnings?: (options: Readonly<Record<string, unknown>>) => readonly string[]
}

/** An option of a provider's own. */
export interface OptionRule {
  readonly kind: 'text' | 'texts' | 'boolean' | 'function' | 'object'
  readonly isRequired?: boolean
  /** For a text: those that it may be. Left out, any. */
  readonly values?: readonly string[]
  /** For the provider's page. */
  readonly summary: string
}

/** A ready-made kind of source. */
export interface Provider<
  Options extends SourceOptions = SourceOptions,
  Defaults extends EventMap = AnyEvents,
> {
  /**
   * Makes a source.
   *
   * @throws OptionInvalidError for an option that is unknown or cannot be used
   * @throws HookonceError with the code SECRET_MISSING for a secret that is missing or empty
   */
  <Events extends EventMap = Defaults>(options: Options): Source<Events>
  /** What it was declared as, for documents and tests. */
  readonly definition: ProviderDefinition
  /** Never set. Carries the payload types of a source that says nothing else. */
  readonly eventTypes?: Defaults
}

/**
 * Makes a provider of a declaration: a function from options to a source.
 *
 * @throws OptionInvalidError for a place or a path in the declaration that cannot be read
 */
export function defineProvider<
  Options extends SourceOptions = SourceOptions,
  Defaults extends EventMap = AnyEvents,
>(definition: ProviderDefinition): Provider<Options, Defaults> {
  const identification = compileIdentification(definition.provider, definition)
  const provider = (options: Options) => makeSource(definition, identification, options)
  return Object.freeze(
    Object.assign(provider, { definition: Object.freeze(definition) }),
  ) as Provider<Options, Defaults>
}

function makeSource(
  definition: ProviderDefinition,
  identification: Identification,
  given: SourceOptions,
): Source {
  const { provider, verify: verification } = definition
  const options = requireProviderOptions(definition, given)
  const built = verification.build({ provider, options })
  const rules = [definition.handshake ?? []].flat()
  const eventMethods = definition.methods ?? ['POST']
  const source = defineSource<AnyEvents>(
    {
      provider,
      securityHeaders: [
        ...(built.headers ?? verification.headers),
        ...identification.headers,
        ...(definition.headers ?? []),
      ].map((name) => name.toLowerCase()),
      retryWindowHours: definition.retryWindowHours,
      manualRedeliveryHours: definition.manualRedeliveryHours,
      sameBytes: sameBytesOf(definition, identification),
      bodyBytesMax: definition.bodyBytesMax,
      ...(definition.success?.body !== undefined && { successBody: definition.success.body }),
    },
    definition.success?.status === undefined
      ? given
      : { status: definition.success.status, ...given },
    {
      warnings: [
        ...built.warnings,
        ...listToleranceWarnings(definition, options),
        ...(definition.warnings?.(options) ?? []),
      ],
      secrets: built.secrets,
      verify: (delivery) => confirm(delivery.body, built.verify(delivery)),
      identify: (delivery, verdict, limits) =>
        identification.identify(delivery, options, verdict, limits),
    },
  )
  const methods = [...new Set([...eventMethods, ...rules.map(({ method }) => method ?? 'POST')])]
  return Object.freeze({
    ...source,
    methods: Object.freeze(methods),
    secretHeaders: Object.freeze(built.secretHeaders ?? []),
    ...(definition.refusal && { refusal: definition.refusal }),
    ...(identification.redactBody && { redactBody: identification.redactBody }),
    ...(rules.length > 0 && {
      handshake: compileHandshake(provider, rules, {
        eventMethods,
        options,
        secrets: built.secrets,
      }),
    }),
  })
}

/** What was read of a body before it was verified must be what is read of it from now on. */
function confirm(
  body: Uint8Array,
  verdict: Verdict | Promise<Verdict>,
): Verdict | Promise<Verdict> {
  if (!('ok' in verdict)) return verdict.then((one) => confirm(body, one))
  return !verdict.ok || ClaimedJson.isConfirmed(body)
    ? verdict
    : { ok: false, reason: 'malformed-body' }
}

/** A key in signed bytes can be believed; one in the query, or in an unsigned header, can be made up. */
export function sameBytesOf(
  { provider, verify: { signsBody, signedHeaders }, sameBytes, ...identity }: ProviderDefinition,
  { keyHeaders, keyReadsQuery }: Identification = compileIdentification(provider, identity),
): SameBytesPolicy {
  if (sameBytes !== undefined) return sameBytes
  // The sender has signed the delivery, and not its body: under another key it is the same delivery.
  if (identity.deliveryKey !== undefined) return 'quarantine'
  // Where not even the body is signed, a forger who can send the same bytes again can send others as well.
  if (!signsBody) return 'run'
  const isSigned = !keyReadsQuery && keyHeaders.every((name) => signedHeaders.includes(name))
  return isSigned ? 'run' : 'quarantine'
}

function requireProviderOptions(
  { provider, verify, options: rules = {} }: ProviderDefinition,
  given: object,
): Readonly<Record<string, unknown>> {
  requireOptions(provider, given, [
    ...verify.optionNames,
    ...Object.keys(rules),
    ...SOURCE_OPTION_KEYS,
  ])
  const options = given as Readonly<Record<string, unknown>>
  if (options['toleranceSeconds'] !== undefined) {
    requireTolerance(`${provider}.toleranceSeconds`, options['toleranceSeconds'])
  }
  for (const [name, rule] of Object.entries(rules)) {
    const value = options[name]
    if (value === undefined && rule.isRequired !== true) continue
    if (value === undefined || value === '') {
      throw new HookonceError('SECRET_MISSING', `${provider} has no ${name}: ${rule.summary}`)
    }
    if (!CHECKS[rule.kind](value)) {
      throw new OptionInvalidError(`${provider}.${name}`, SHAPES[rule.kind], value)
    }
    if (rule.values !== undefined) requireOneOf(`${provider}.${name}`, value, rule.values)
  }
  return options
}

const SHAPES: Readonly<Record<OptionRule['kind'], string>> = {
  text: 'text',
  texts: 'a list of texts',
  boolean: 'true or false',
  function: 'a function',
  object: 'an object',
}

const CHECKS: Readonly<Record<OptionRule['kind'], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  texts: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  boolean: (value) => typeof value === 'boolean',
  function: (value) => typeof value === 'function',
  object: (value) => typeof value === 'object' && value !== null,
}

function listToleranceWarnings(
  { provider, verify }: ProviderDefinition,
  { toleranceSeconds }: Readonly<Record<string, unknown>>,
): readonly string[] {
  if (verify.toleranceSeconds !== undefined || toleranceSeconds === undefined) return []
  return [`${provider} signs no timestamp, so its toleranceSeconds has no effect.`]
}
