import { twilioFixture } from '../../../src/testing/fixtures/twilio.ts'
import type { ProviderCase } from '../every-provider.ts'
import { sortedFields } from '../sorted-fields.ts'

export const CASE: ProviderCase = {
  fixture: twilioFixture,
  uncovered: {
    sameText: {
      why: 'names and values are signed with nothing between; all that sign alike have the same content, so that one of them under another key is quarantined',
      signed: (body) => (body.startsWith('[') ? body : sortedFields(body)),
    },
    headers: {
      'i-twilio-idempotency-token':
        'not signed; the same bytes under another token are quarantined',
    },
  },
  // Event Streams. JSON, whatever the content type of the other events is.
  batch: (keys, at) =>
    JSON.stringify(
      keys.map((id) => ({
        specversion: '1.0',
        type: 'com.twilio.messaging.message.sent',
        source: '/2010-04-01/Accounts/AC0/Messages/SM0.json',
        id,
        time: at.toISOString(),
      })),
    ),
}
