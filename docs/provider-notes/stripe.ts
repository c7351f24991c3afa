import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Stripe',
  setUp: [
    'In the dashboard, add an endpoint with the URL of the source, and copy its signing secret (`whsec_…`).',
  ],
  traps: [
    'Two events with two ids may describe one change.',
    'After a secret is rolled, the old one may sign for up to 24 hours: give both.',
  ],
  key: '`id`, apart for live and test mode and for each connected account',
}
