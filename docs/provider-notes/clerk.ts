import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Clerk',
  setUp: [
    'In the dashboard, under **Webhooks**, add an endpoint with the URL of the source.',
    'Take its signing secret (`whsec_…`).',
  ],
  traps: [
    'The body has no id of the event. `data.id` is that of the user or organization, and the same in all its events.',
    'Events may arrive out of order. `data.updated_at` is given as their version; a deletion has none.',
  ],
}
