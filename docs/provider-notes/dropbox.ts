import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Dropbox',
  setUp: [
    'In the app console, under **Webhooks**, add the URL of the source. Dropbox sends a challenge, which is answered.',
    'The secret is the app secret.',
  ],
  traps: [
    'A signal says that an account changed, and nothing more. Keep a cursor for each account and read from it.',
    'Nothing tells a retry from a new signal, so both run. Reading from the cursor makes the second one harmless; taking equal signals for one would lose changes.',
    'No time is signed: a person who has seen a signal can send it again, which makes you read once more.',
    'Dropbox turns off webhooks that fail often.',
  ],
  key: 'the account and the millisecond of its arrival: every signal is an event',
  type: '`list_folder`',
}
