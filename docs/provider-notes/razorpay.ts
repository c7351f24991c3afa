import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Razorpay',
  setUp: [
    'Under **Account & Settings**, **Webhooks**, add a webhook with the URL of the source and a secret of your own. It is not the API’s key secret.',
  ],
  traps: [
    'The event id is in a header that is not signed. The same body under another id is quarantined.',
    'After a change of the secret, retries of older events keep the old one for up to 24 hours: give both. Replays from the dashboard have the new one.',
    'A webhook that fails for 24 hours is switched off. Events of up to seven days can be replayed from the dashboard.',
    'Events may arrive in another order than they happened: `payment.captured` before `payment.authorized`.',
  ],
}
