/**
 * How notifications of Microsoft Graph are verified: `clientState` in every one, and for those with
 * resource data a token of Entra ID for each tenant.
 *
 * @module
 */

import type { Delivery } from '../../model/delivery.ts'
import type { Verdict, VerdictReason } from '../../model/source.ts'
import { testElements } from '../../body/claimed-json.ts'
import { Reading } from '../../body/json-path.ts'
import { isJwtInTime, parseJwt } from '../../verify/jwt.ts'
import type { ParsedJwt } from '../../verify/jwt.ts'
import { resolveSecrets } from '../../verify/secrets.ts'
import type { ResolvedSecret, Secret } from '../../verify/secrets.ts'
import { findTokenOwner } from '../../verify/token.ts'
import { customVerification } from '../schemes/custom-verification.ts'
import { jwkJudge, listJwkOptionNames } from '../schemes/jwk-judge.ts'
import type { FindTokenSigner } from '../schemes/jwk-judge.ts'
import type { BuildContext, BuiltVerification, Verification } from '../schemes/verification.ts'

export interface GraphTokenOptions {
  /**
   * The ids of your apps. Needed for notifications with resource data: without it those are refused,
   * because a token for a stranger's app would do.
   */
  readonly appIds?: readonly string[]
  /**
   * The tenants that notifications with resource data may come from.
   *
   * @defaultValue any tenant that your app is in
   */
  readonly tenantIds?: readonly string[]
}

const ENTRA_KEYS = {
  url: 'https://login.microsoftonline.com/common/discovery/v2.0/keys',
  host: /^login\.microsoftonline\.com$/,
}

/** Graph's service for change notifications, as an app of Entra ID. */
const PUBLISHER = '0bf30f3b-4a52-48df-9a82-234910c4a086'

/** A notification in a request, as far as it is verified. */
interface Notification {
  readonly clientState?: unknown
  readonly tenantId?: unknown
  readonly encryptedContent?: unknown
}

export function graphVerification(): Verification {
  return customVerification({
    summary:
      '`clientState`, a shared token in every notification; nothing is signed. With resource data also `validationTokens`, JSON Web Tokens (RS256) of Entra ID',
    signsBody: false,
    optionNames: ['secrets', ...listJwkOptionNames({ jwks: ENTRA_KEYS })],
    build,
  })
}

function build(context: BuildContext): BuiltVerification {
  const { provider, options } = context
  const given = options['secrets'] as readonly Secret[] | undefined
  const { secrets, warnings } = resolveSecrets(provider, given, 'utf8')
  const findSigner = jwkJudge({ algorithm: 'RS256', jwks: ENTRA_KEYS }, context)
  return {
    secrets,
    warnings,
    verify: (delivery) => verifyNotifications(secrets, findSigner, options, delivery),
  }
}

async function verifyNotifications(
  secrets: readonly ResolvedSecret[],
  findSigner: FindTokenSigner,
  options: GraphTokenOptions,
  delivery: Delivery,
): Promise<Verdict> {
  const nowMs = delivery.receivedAt.getTime()
  const findOwner = (clientState: string) =>
    findTokenOwner(secrets, Buffer.from(clientState, 'utf8'), nowMs)
  // Before the body is parsed: the first notification without the token ends it.
  const shown = testElements(
    delivery.body,
    'value',
    [['clientState']],
    ([clientState]) => clientState !== undefined && findOwner(clientState) !== undefined,
  )
  if (shown !== 'holds') return refuse(shown === 'none' ? 'malformed-body' : 'bad-token')

  const { json } = new Reading(delivery)
  const value = json?.findValue(['value'])
  // Of an empty list every element shows the token: it proves nothing.
  if (!Array.isArray(value) || value.length === 0) return refuse('malformed-body')
  const notifications = value.map((one) => (one ?? {}) as Notification)
  const owners = notifications.map(({ clientState }) =>
    typeof clientState === 'string' ? findOwner(clientState) : undefined,
  )
  const owner = owners[0]
  if (owner === undefined || owners.includes(undefined)) return refuse('bad-token')

  const tokens = json?.findValue(['validationTokens']) ?? []
  const rich = notifications.filter(({ encryptedContent }) => (encryptedContent ?? null) !== null)
  const isPlain = rich.length === 0 && Array.isArray(tokens) && tokens.length === 0
  if (isPlain) return { ok: true, secret: owner }
  const reason = await findFault(tokens, rich, { findSigner, options, nowMs })
  return reason === undefined ? { ok: true, secret: owner } : refuse(reason)
}

/** One for each app and tenant; more than this is no request of Graph. */
const TOKENS_MAX = 64

/** Why the tokens do not vouch for the notifications. One that fails makes the others suspicious. */
async function findFault(
  tokens: unknown,
  rich: readonly Notification[],
  context: {
    readonly findSigner: FindTokenSigner
    readonly options: GraphTokenOptions
    readonly nowMs: number
  },
): Promise<VerdictReason | undefined> {
  // Not knowing our own name we cannot tell whom a token is for.
  if (context.options.appIds === undefined) return 'unknown-key'
  if (!Array.isArray(tokens) || tokens.length > TOKENS_MAX) return 'malformed-body'
  const tenants = new Set<unknown>()
  for (const text of tokens as readonly unknown[]) {
    if (typeof text !== 'string') return 'malformed-body'
    const token = parseJwt(text, 'RS256')
    if (typeof token === 'string') return token === 'malformed-header' ? 'malformed-body' : token
    // Before any key is fetched: what is not for us is no reason to ask Microsoft.
    if (!isForUs(token.claims, context.options)) return 'bad-token'
    const found = await context.findSigner(token)
    if (typeof found === 'string') return found
    if (!isInTime(token.claims, context.nowMs)) return 'stale'
    tenants.add(token.claims['tid'])
  }
  return rich.every(({ tenantId }) => tenants.has(tenantId)) ? undefined : 'bad-token'
}

/** Whether Entra ID made the token, for Graph's service to call one of our apps. */
function isForUs(
  claims: ParsedJwt['claims'],
  { appIds = [], tenantIds }: GraphTokenOptions,
): boolean {
  const { ver, aud, iss, tid, azp, appid } = claims
  if (typeof tid !== 'string' || typeof aud !== 'string') return false
  const isVersion2 = ver === '2.0'
  if (!isVersion2 && ver !== '1.0') return false
  const issuer = isVersion2
    ? `https://login.microsoftonline.com/${tid}/v2.0`
    : `https://sts.windows.net/${tid}/`
  return (
    (isVersion2 ? azp : appid) === PUBLISHER &&
    iss === issuer &&
    appIds.includes(aud) &&
    (tenantIds?.includes(tid) ?? true)
  )
}

/** A token without an end is none of Entra ID's. */
function isInTime(claims: ParsedJwt['claims'], nowMs: number): boolean {
  return typeof claims['exp'] === 'number' && isJwtInTime(claims, nowMs, { leewaySeconds: 300 })
}

function refuse(reason: VerdictReason): Verdict {
  return { ok: false, reason }
}
