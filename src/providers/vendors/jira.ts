/**
 * Jira Cloud: `x-hub-signature: sha256=<hex>` over the body, for webhooks with a secret. Apps built with
 * Connect get a JSON Web Token instead, which covers nothing of the body (`connect-token.ts`); it is taken
 * only where `publicUrl` is given.
 *
 * The identifier of a webhook travels in an unsigned header, and is unique within one site.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Reading } from '../../body/json-path.ts'
import { connectToken } from './connect-token.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { instantAt } from '../instant-at.ts'
import { firstPresent } from '../schemes/first-present.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { PublicUrlOptions } from '../schemes/public-url.ts'
import type { BuildContext, BuiltVerification } from '../schemes/verification.ts'

const SIGNED = hmacSignature({
  signature: 'header:x-hub-signature',
  prefix: 'sha256=',
  algorithm: 'sha256',
  encoding: 'lower-hex',
  signed: '{body}',
})
const CONNECT = connectToken()

/**
 * Jira's webhooks.
 *
 * An event is known by its site and `x-atlassian-webhook-identifier`, or where there is none by the hash
 * of its body, which has the time of the event in it.
 */
export const jira: Provider<JiraOptions, JiraEvents> = defineProvider({
  provider: 'jira',
  verify: {
    ...firstPresent([
      { when: 'x-hub-signature', use: SIGNED },
      { when: 'authorization', use: CONNECT },
    ]),
    summary:
      '`x-hub-signature`: HMAC-SHA-256 in hex; with `publicUrl` also `authorization`: JSON Web Token (HS256), which does not cover the body',
    build,
  },
  options: {
    baseUrl: {
      kind: 'text',
      summary: 'the base URL in a Connect app’s descriptor, where it has a path',
    },
  },
  key: ['header:x-atlassian-webhook-identifier', 'body'],
  scope: findSite,
  type: 'json:$.webhookEvent',
  occurredAt: 'json:$.timestamp',
  version: instantAt(
    'json:$.issue.fields.updated',
    'json:$.comment.updated',
    'json:$.worklog.updated',
  ),
  // Of signed bytes, another identifier is no other event. Tokens do not sign any, and lose nothing by it.
  sameBytes: 'quarantine',
  // Five retries, at most fifteen minutes apart.
  retryWindowHours: 1.25,
  timeoutSeconds: 20,
})

/** What Jira's events have in common. */
export interface JiraPayload {
  /** `jira:issue_updated`, `comment_created`, … */
  readonly webhookEvent: string
  /** Milliseconds since 1970. */
  readonly timestamp: number
  readonly issue_event_type_name?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly user?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly issue?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Jira by event type. Give `jira` a map of your own for exact ones. */
export type JiraEvents = Readonly<Record<string, JiraPayload>>

/** For Connect apps `secrets` are the shared secrets of the sites that installed the app. */
export interface JiraOptions extends SecretOptions, Partial<PublicUrlOptions> {
  /**
   * The base URL in a Connect app's descriptor, where it has a path.
   *
   * @defaultValue one without a path
   */
  readonly baseUrl?: string
}

function build(context: BuildContext): BuiltVerification {
  const signed = SIGNED.build(context)
  const connect = context.options['publicUrl'] === undefined ? undefined : CONNECT.build(context)
  return {
    ...signed,
    verify(delivery) {
      const isToken = connect !== undefined && findHeader(delivery, 'x-hub-signature') === undefined
      return isToken ? connect.verify(delivery) : signed.verify(delivery)
    },
  }
}

/** What stands before `/rest/` in the address of anything the event names. */
function findSite({ json }: Reading): string | undefined {
  for (const name of Object.keys(json?.findValue([]) ?? {})) {
    const address = json?.findText([name, 'self']) ?? ''
    const end = address.indexOf('/rest/')
    if (end > 0) return address.slice(0, end)
  }
  return undefined
}
