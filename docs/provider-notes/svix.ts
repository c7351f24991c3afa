import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Svix',
  setUp: [
    'For a sender that delivers through Svix and has no page here. Take the signing secret (`whsec_…`) of the endpoint, which the sender shows.',
  ],
  traps: [
    'All endpoints of an application get a message under the same id. Two of them with one source make one event of it.',
    'What is in the body is the sender’s own. The type is looked for in `type`, `event_type` and `eventType`.',
    'An endpoint that has failed for five days is turned off. Svix can resend and recover messages, under the same id.',
  ],
  key: '`svix-id`, or `webhook-id` of an unbranded sender',
}
