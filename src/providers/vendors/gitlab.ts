/**
 * GitLab: a signing token (Standard Webhooks, where GitLab is new enough), or the older secret token,
 * which is shown in a header while nothing is signed.
 *
 * Both go into `secrets`, and are told apart by `whsec_`. Once there is a signing token, what carries a
 * signature is judged by it alone. A secret token beside it still admits requests without a signature,
 * and is warned about.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import { resolveSecrets } from '../../verify/secrets.ts'
import type { Secret } from '../../verify/secrets.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { instantAt } from '../instant-at.ts'
import { firstPresent } from '../schemes/first-present.ts'
import { sharedToken } from '../schemes/shared-token.ts'
import { standardSignature } from '../schemes/standard-signature.ts'
import type { BuildContext, BuiltVerification } from '../schemes/verification.ts'

const SIGNED = standardSignature({ names: ['webhook'] })
const SHOWN = sharedToken({ at: 'header:x-gitlab-token' })

/**
 * GitLab's webhooks.
 *
 * An event is known by `webhook-id` where it is signed, else by `idempotency-key`, which has the same
 * value; before GitLab 17.4 by the hash of its body. Its type is `object_kind`, such as `push`.
 */
export const gitlab: Provider<GitlabOptions, GitlabEvents> = defineProvider({
  provider: 'gitlab',
  verify: {
    ...firstPresent([
      { when: 'webhook-signature', use: SIGNED },
      { when: 'x-gitlab-token', use: SHOWN },
    ]),
    summary:
      '`webhook-signature`: Standard Webhooks, HMAC-SHA-256 in base64; `x-gitlab-token`: a shared token, and nothing is signed',
    // Standard Webhooks have public keys as well; GitLab has none.
    optionNames: ['secrets', 'toleranceSeconds'],
    build,
  },
  // Not `x-gitlab-event-uuid`, which is the same for all events that one has caused.
  key: [
    ({ delivery }) =>
      findHeader(delivery, 'webhook-signature') === undefined
        ? undefined
        : findHeader(delivery, 'webhook-id'),
    'header:idempotency-key',
    'body',
  ],
  // Group and system hooks have an `event_name` alone. The header `x-gitlab-event` is not signed.
  type: ['json:$.object_kind', 'json:$.event_name'],
  occurredAt: instantAt(
    'json:$.object_attributes.updated_at',
    'json:$.object_attributes.created_at',
    'json:$.status_changed_at',
    'json:$.build_finished_at',
    'json:$.build_started_at',
    'json:$.build_created_at',
    'json:$.updated_at',
    'json:$.created_at',
  ),
  version: instantAt('json:$.object_attributes.updated_at'),
  // With a signature the id is signed. Without one nothing is signed, and a person who has the token may send
  // any bytes.
  sameBytes: 'run',
  // GitLab sends nothing larger, and never again after a 413.
  bodyBytesMax: 26_214_400,
  // Never by itself; people resend for as long as the log has the request.
  retryWindowHours: null,
  // By its pages or its API, for what is in the list of the last seven days.
  manualRedeliveryHours: 168,
  timeoutSeconds: 10,
})

/** What GitLab's events have in common. */
export interface GitlabPayload {
  readonly object_kind?: string
  readonly event_name?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly project?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly object_attributes?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** Any `object_kind` (`push`, `merge_request`, …), with what GitLab's payloads have in common. */
export type GitlabEvents = Readonly<Record<string, GitlabPayload>>

/** `secrets` are signing tokens (`whsec_…`), secret tokens, or both while one replaces the other. */
export type GitlabOptions = SecretOptions

function build(context: BuildContext): BuiltVerification {
  const { provider, options } = context
  const given = options['secrets'] as readonly Secret[]
  // For its checks of the whole list: an empty one, a label that comes twice.
  const { secrets } = resolveSecrets(provider, given, 'utf8')
  // Their places in the whole list are what they are known by.
  const labelled = given.map((secret, index) => ({
    ...(typeof secret === 'string' ? { value: secret } : secret),
    label: secrets[index]?.label ?? '',
  }))
  const buildWith = (verification: typeof SIGNED, some: readonly Secret[]) =>
    some.length === 0
      ? undefined
      : verification.build({ ...context, options: { ...options, secrets: some } })
  const signed = buildWith(SIGNED, labelled.filter(isSigningToken))
  const shown = buildWith(
    SHOWN,
    labelled.filter((secret) => !isSigningToken(secret)),
  )
  const keyed = [...(signed?.secrets ?? []), ...(shown?.secrets ?? [])]
  return {
    // As its scheme decodes each: the text of a signing token is longer than its key.
    secrets: secrets.map((one) => keyed.find(({ label }) => label === one.label) ?? one),
    // Withheld wherever it comes along, also where GitLab signs and the token is none of ours.
    secretHeaders: SHOWN.headers,
    warnings: [
      ...(signed?.warnings ?? []),
      ...(shown?.warnings ?? []),
      ...listWeaknesses(signed !== undefined, shown !== undefined),
    ],
    verify(delivery) {
      const isSigned = findHeader(delivery, 'webhook-signature') !== undefined
      const judge = isSigned ? (signed ?? shown) : (shown ?? signed)
      return judge?.verify(delivery) ?? { ok: false, reason: 'unknown-key' }
    },
  }
}

function isSigningToken({ value }: { readonly value: string }): boolean {
  return value.startsWith('whsec_')
}

function listWeaknesses(isSigned: boolean, isShown: boolean): readonly string[] {
  if (!isShown) return []
  return isSigned
    ? [
        'gitlab has a secret token beside a signing token: a request without a signature is believed for it. Take it out once the webhook signs.',
      ]
    : [
        'gitlab has a secret token and no signing token: nothing is signed, and a person who learns the token can make events.',
      ]
}
