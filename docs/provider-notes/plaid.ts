import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Plaid',
  setUp: [
    'Set the URL of the source as the `webhook` of your items.',
    'Give `fetchKey`, which asks `/webhook_verification_key/get` for a key by its id.',
  ],
  traps: [
    'There is no event id, and equal bodies are different events. A retry that Plaid signs anew therefore runs again: treat an event as a hint to read the item.',
  ],
  key: 'the signed part of the token, so that only the very same request is a duplicate',
  exampleOptions: `fetchKey: async (keyId, signal) => {
      const response = await fetch('https://production.plaid.com/webhook_verification_key/get', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_id: process.env['PLAID_CLIENT_ID'],
          secret: process.env['PLAID_SECRET'],
          key_id: keyId,
        }),
        signal,
      })
      return ((await response.json()) as { key?: object }).key
    },`,
}
