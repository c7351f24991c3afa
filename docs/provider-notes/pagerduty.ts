import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'PagerDuty',
  setUp: [
    'Under **Integrations**, **Generic Webhooks (v3)**, add the URL of the source, and copy the secret that is shown once.',
  ],
  traps: [
    'PagerDuty drops what is answered with a 4xx. After three drops in a row it stops the subscription for a day and empties its queue: put a new secret into `secrets` before the old one goes.',
    'Later events of an incident wait behind one that fails.',
    'An event that goes to two subscriptions has two `x-webhook-id` and one `event.id`: it is one event.',
    'Beyond 55 KB details are cut off, beyond 256 KB nothing is sent.',
    'Webhooks V1 and V2 are not taken.',
  ],
}
