import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Mailgun',
  setUp: [
    'The secret is the HTTP webhook signing key, not an API key.',
    'Add the URL of the source to the webhooks of a domain or of the account, or to a route.',
  ],
  traps: [
    'The event is not signed, only a timestamp and a token beside it. A person who has seen one signature can put another event beside it. A token that came with one event is a `conflict` with another, kept and not run; where something hangs on an event, read it again through the API.',
    'The time window is nine hours, because Mailgun retries for eight and does not say whether a retry is signed anew.',
    'An event id is unique within a day only; the day is part of the key.',
    'The author of a mail chooses its `Message-Id`: two mails with one `Message-Id` and other content are two events.',
    'For subaccounts the signing key of the primary account works as well (`parent-signature`).',
    'Routes that forward attachments post multipart, which is not read, and are refused. Use `store()` and fetch the message.',
    'It is said not to retry `delivered`.',
    'A form of more than 1,000 fields is refused before its signature is looked at.',
  ],
  key: '`event-data.id` and the day of its time; for inbound messages `Message-Id`, recipient and content',
  type: '`event-data.event`; `inbound` for routes',
}
