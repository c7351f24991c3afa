import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Klarna',
  setUp: [
    'In the Partner Portal or through the API, create a signing key. It is shown once.',
    'Subscribe the URL of the source, on port 443 or 8443, to event types, with that key.',
  ],
  traps: [
    'For the notifications of the Klarna Network. The pushes of Klarna Checkout and Order Management are unsigned and are refused.',
    'The id of the signing key is not read: give every key that is in use.',
    'Two subscriptions deliver one event twice, under one event id.',
  ],
  key: '`metadata.event_id`, apart for live and test mode',
}
