import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Lemon Squeezy',
  setUp: [
    'Under **Settings**, **Webhooks**, add the URL of the source and a signing secret of your own, of 6 to 40 characters. Take 40.',
  ],
  traps: [
    'It retries three times within three minutes. Whatever fails longer is lost unless you resend it from the dashboard.',
    'There is no event id, and `updated_at` has no fractions of a second. An event is known by what it says.',
    'The header `x-event-name` is not signed, and not read.',
  ],
  key: '`meta.event_name` + `data.type` + `data.id` + a hash of the rest, without its signed links',
}
