import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Ably',
  setUp: [
    'Create a webhook integration with the URL of the source, **batch mode**, the encoding **JSON**, and a key to sign with.',
    'The secret is that key (`app.key:secret`), or the part behind its colon.',
  ],
  traps: [
    'Single requests are not signed, and are refused. So is MessagePack.',
    'A batch that is sent again may have newer items in it. Each item is an event, and known ones are duplicates.',
    'After five minutes Ably discards what it could not deliver.',
    'An item may hold several messages: `data.messages` is a list.',
  ],
  key: '`serial`, name and channel of each item, within its webhook',
}
