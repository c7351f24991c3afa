/**
 * GitHub's payloads by the name of their event, from `@octokit/openapi-webhooks-types`. Types only:
 * nothing here runs, and the package is needed only where this entry is imported.
 *
 * @module
 */

import type { operations } from '@octokit/openapi-webhooks-types'

/**
 * For `github<GithubEventMap>({ … })`: a handler of `issues` gets the payloads of all its actions, and
 * `payload.action` tells them apart.
 */
export type GithubEventMap = {
  readonly [Operation in keyof operations as EventName<Operation>]: PayloadOf<operations[Operation]>
}

/** `pull-request/opened` is an action of what GitHub's header calls `pull_request`. */
type EventName<Operation extends string> = Operation extends `${infer Event}/${string}`
  ? Underscored<Event>
  : Underscored<Operation>

type Underscored<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}_${Underscored<Tail>}`
  : Name

type PayloadOf<Operation> = Operation extends {
  readonly requestBody?: { readonly content: { readonly 'application/json': infer Payload } }
}
  ? Payload
  : never
