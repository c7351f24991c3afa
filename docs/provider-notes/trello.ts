import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Trello',
  setUp: [
    'Take the secret (not the API key, and no token) from your Power-Up’s page.',
    'Create a webhook through the API with the URL of the source as `callbackURL`, and give the same text as `publicUrl`, its query included. The HEAD that Trello sends is answered.',
  ],
  traps: [
    'The signature is HMAC-SHA1, and no time is signed: a request that was seen can be sent again, and is a duplicate.',
    'All webhooks of one source need the same `callbackURL`: it is signed.',
    'An action comes once for each webhook that watches something it touched, and each is an event of its own.',
    'An answer of 410 deletes the webhook; none is given here.',
    'Stricter than Trello’s samples: the body must be JSON. Every user of your app can have Trello sign for a URL that ends with yours.',
  ],
  key: '`webhook.id`, else `model.id`, + `action.id`',
}
