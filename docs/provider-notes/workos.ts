import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'WorkOS',
  setUp: [
    'In the dashboard, under **Webhooks**, add the URL of the source.',
    'Take the signing secret of the endpoint.',
  ],
  traps: [
    'The time in the signature is in milliseconds, and may be three minutes old.',
    'Some versions of WorkOS’s library check the body as they would write it. Here it is the bytes that arrived: a proxy that formats JSON anew breaks the signature.',
    'Events may arrive out of order. `data.updated_at` is given as their version.',
  ],
}
