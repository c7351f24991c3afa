import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'GoCardless',
  setUp: [
    'In the dashboard, under **Developers**, add a webhook endpoint with the URL of the source, and copy its secret.',
  ],
  traps: [
    'One request carries up to 250 events. Each is an event of its own, and its payload is the one element.',
    'Events of one resource may come in other requests and in another order.',
    'The header has the name of Standard Webhooks’, but the scheme is another.',
    'A redirect is a failure.',
  ],
}
