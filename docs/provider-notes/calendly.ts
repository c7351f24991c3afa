import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Calendly',
  setUp: [
    'Create a webhook subscription through the API, with the URL of the source and a `signing_key` of your own. An OAuth app has a key already.',
  ],
  traps: [
    'Without a signing key nothing is signed, and everything is refused.',
    'The window is three minutes, as in Calendly’s own sample. That a retry has a fresh time is not documented: if retries are refused as stale, raise `toleranceSeconds`.',
    'A rescheduling is two events: `invitee.canceled` and `invitee.created`.',
    'After 24 hours of failure the subscription is switched off.',
  ],
}
