import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Mailchimp Transactional (Mandrill)',
  setUp: [
    'Under **Settings**, **Webhooks**, add a webhook with the URL of the source. Mandrill checks it, and is answered.',
    'Copy its key, and give the URL as `publicUrl`, byte for byte.',
  ],
  traps: [
    'The URL is signed: `https://example.com/in/mandrill` and `https://example.com/in/mandrill/` are two.',
    '`_id` is the id of the message, and many events share it.',
    'No time is signed. A captured request stays good, and its keys are what stops it.',
    'Stricter than Mandrill’s samples: there is one field and no other. With a second one the text of a mail could be read as events. What is no list is kept and not run.',
    'A form of more than 1,000 fields is refused before its signature is looked at.',
  ],
  key: '`event`, `_id` and `ts` of each, for opens and clicks with link, address and browser; a hash of the content where there is no message',
  type: '`event`; for changes of lists type and action, such as `blacklist.add`',
}
