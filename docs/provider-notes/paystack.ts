import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Paystack',
  setUp: [
    'Under **Settings**, **API Keys & Webhooks**, enter the URL of the source. The secret is the secret key beside it (`sk_live_…` or `sk_test_…`).',
  ],
  traps: [
    'A new API key is a new secret: give both until the retries of the old one have ended, 72 hours later.',
    'There is no event id. What can happen to an object only once is known by its id, everything else by its bytes.',
    'A charge that fails makes no event.',
  ],
  key: 'for charges and transfers that succeeded, and transfers that were reversed, `event` + `data.id` + `data.status`; else the body. Apart for live and test mode',
}
