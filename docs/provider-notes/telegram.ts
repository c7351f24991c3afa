import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Telegram Bot API',
  setUp: [
    'Call `setWebhook` with the URL of the source and a `secret_token` of your own: up to 256 of `A-Z a-z 0-9 _ -`.',
  ],
  traps: [
    'Nothing is signed. A person who learns the token can make updates.',
    'An `update_id` is unique within one bot: give each bot a source of its own.',
  ],
  type: 'the one member beside `update_id`, such as `message` or `callback_query`',
}
