/**
 * Bitbucket Cloud and Data Center: `x-hub-signature: sha256=<hex>` over the body. The header has the name
 * that GitHub gave to SHA-1; SHA-1 is not taken.
 *
 * Nothing but the body is signed: neither the id of the request nor the name of the event. That the id
 * stays the same from one attempt to the next is written in no document, and receivers rely on it. Were it
 * new each time, the retry would be the same bytes under another id, and quarantined. It could not be
 * called a duplicate: a branch that is pushed, reset and pushed again makes the same bytes twice.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import { instantAt } from '../instant-at.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Bitbucket's webhooks.
 *
 * An event is known by `x-request-uuid` (Cloud) or `x-request-id` (Data Center); its type is
 * `x-event-key`, such as `repo:push`.
 */
export const bitbucket: Provider<BitbucketOptions, BitbucketEvents> = defineProvider({
  provider: 'bitbucket',
  verify: hmacSignature({
    signature: 'header:x-hub-signature',
    prefix: 'sha256=',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  handshake: [
    {
      summary:
        'Data Center, **Test connection**: an unsigned POST of the type `diagnostics:ping` with `{"test":true}`; answered 200',
      when: ['header:x-event-key', 'diagnostics:ping'],
      // One that is signed is judged by its signature, so that the test tells of a wrong secret.
      answer: (context) =>
        findHeader(context.delivery, 'x-hub-signature') === undefined
          ? answerPing(context)
          : undefined,
    },
    {
      summary: 'the same with a signature; answered 200 where that holds',
      when: ['header:x-event-key', 'diagnostics:ping'],
      signed: true,
      answer: answerPing,
    },
  ],
  // Not `x-hook-uuid`, which is the webhook's.
  key: ['header:x-request-uuid', 'header:x-request-id'],
  type: 'header:x-event-key',
  occurredAt: instantAt(
    // Data Center.
    'json:$.date',
    'json:$.comment.updated_on',
    'json:$.approval.date',
    'json:$.changes_request.date',
    'json:$.commit_status.updated_on',
    'json:$.pullrequest.updated_on',
    'json:$.issue.updated_on',
    // A push says when its last commit was made, and not when it was pushed.
    'json:$.push.changes[0].new.target.date',
  ),
  version: [
    'json:$.pullRequest.version',
    instantAt('json:$.pullrequest.updated_on', 'json:$.issue.updated_on'),
  ],
  retryWindowHours: 0.5,
  timeoutSeconds: 10,
})

/** What Bitbucket's events have in common. Cloud writes `pullrequest`, Data Center `pullRequest`. */
export interface BitbucketPayload {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly actor?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly repository?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Bitbucket by event type. Give `bitbucket` a map of your own for exact ones. */
export type BitbucketEvents = Readonly<Record<string, BitbucketPayload>>

/** What `bitbucket` is configured with. */
export type BitbucketOptions = SecretOptions

/** By its body as well: nothing that happened in a repository looks like this, so nothing is lost by it. */
function answerPing({ find }: HandshakeContext) {
  return find('json:$.test') === 'true' ? emptyAnswer() : undefined
}
