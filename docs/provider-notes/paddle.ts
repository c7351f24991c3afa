import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Paddle',
  setUp: [
    'Under **Developer tools**, **Notifications**, add a destination with the URL of the source, and copy its secret key (`pdl_ntfset_…`).',
  ],
  traps: [
    'For Paddle Billing. The alerts of Paddle Classic (`p_signature`) are another scheme, and are refused.',
    'Paddle’s own library takes a timestamp that is at most 5 s old. Set `toleranceSeconds` to be as strict, if your clock is.',
    'A replay has a new notification id and the same event id: it is a duplicate.',
    'Nothing is promised of the order; compare `occurred_at`.',
  ],
}
