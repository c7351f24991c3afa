import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Notion',
  setUp: [
    'Start with a long random text as the secret, and an `onVerificationToken` that shows you the token.',
    'In the settings of your integration, under **Webhooks**, create a subscription with the URL of the source. Notion sends its token at once.',
    'Paste the token into Notion, and make it the secret.',
  ],
  traps: [
    'The handshake is not signed, so a stranger can send a token too. Believe the one that comes while you wait for it; Notion takes no other. None becomes a secret by itself.',
    'A retry counts `attempt_number`, so its bytes and its signature differ. It is known by its `id`.',
    'No time is signed apart from the body. An old delivery that is sent again is a duplicate for as long as its key is kept.',
    'Events carry ids only, are put together from several edits, and may arrive out of order: read the page through the API.',
  ],
  exampleOptions: `onVerificationToken: (token) => console.log(token),`,
}
