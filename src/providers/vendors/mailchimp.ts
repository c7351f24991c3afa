/**
 * Mailchimp's audience webhooks: nothing is signed, so the URL that Mailchimp is given has a secret in
 * its query, and a person who has seen one delivery can make others.
 *
 * There is no event id. `data[id]` is the member's or the campaign's, and times are in whole seconds, so
 * all of the fields together are what an event is known by.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { findFormField, renderSortedForm } from '../../body/form-body.ts'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { emptyAnswer } from '../handshake.ts'
import type { HandshakeRule } from '../handshake.ts'
import { sharedToken } from '../schemes/shared-token.ts'
import type { TokenOptions } from '../schemes/shared-token.ts'

const SECRET = 'query:secret'

/** Mailchimp's webhooks of an audience: forms with fields such as `data[email]`. */
export const mailchimp: Provider<MailchimpOptions, MailchimpEvents> = defineProvider({
  provider: 'mailchimp',
  verify: sharedToken({ at: SECRET }),
  handshake: [checkOfUrl('GET'), checkOfUrl('HEAD')],
  key: {
    all: [
      'form:type',
      'form:fired_at',
      { optional: 'form:data[list_id]' },
      { optional: ['form:data[id]', 'form:data[new_id]', 'form:data[email]'] },
      ({ delivery }) => {
        const fields = renderSortedForm(delivery.body)
        return fields && createHash('sha256').update(fields).digest('hex')
      },
    ],
  },
  type: 'form:type',
  occurredAt: findFiredAt,
  content: ({ delivery }) => renderSortedForm(delivery.body),
  // Its documents say 75 minutes.
  retryWindowHours: 1.25,
  timeoutSeconds: 10,
})

/** The form's fields by their names, brackets and all: `payload['data[email]']`. */
export interface MailchimpPayload {
  readonly type: string
  /** Such as `2025-10-09 08:53:20`. */
  readonly fired_at: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [field: string]: any
}

/** The payloads of Mailchimp by event type. Give `mailchimp` a map of your own for exact ones. */
export type MailchimpEvents = Readonly<Record<string, MailchimpPayload>>

/** What `mailchimp` is configured with. */
export type MailchimpOptions = TokenOptions

function checkOfUrl(method: 'GET' | 'HEAD'): HandshakeRule {
  return {
    summary: `a ${method} of the URL when it is registered; answered 200 where the secret is right, 401 where it is not`,
    method,
    token: { at: SECRET, option: 'secrets' },
    answer: () => emptyAnswer(),
  }
}

/** Written without a zone, and no document names one; read as UTC. */
function findFiredAt({ delivery }: Reading): string | undefined {
  const text = findFormField(delivery.body, 'fired_at')
  return text?.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/, '$1T$2Z')
}
