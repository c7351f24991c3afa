import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Mailchimp',
  setUp: [
    'Make up a long secret, and put it into the URL: `https://example.com/in/mailchimp?secret=…`.',
    'Under the audience’s **Settings**, **Webhooks**, enter that URL. Mailchimp asks for it, and is answered.',
  ],
  traps: [
    'Nothing is signed. A person who learns the URL can make events: keep it out of logs, and where something hangs on an event, read the member again through the API.',
    'There is no event id, and times are in whole seconds: all fields together are the key. Two equal events in one second are one.',
    "The payload is the form’s fields by their names: `payload['data[email]']`.",
  ],
  key: 'type, time, list and member, and a hash of all fields',
}
