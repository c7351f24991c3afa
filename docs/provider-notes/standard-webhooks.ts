import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Standard Webhooks',
  setUp: ['Take the secret (`whsec_…`) or the public key (`whpk_…`) that the sender shows.'],
  traps: ['Some senders use the names of these headers for a scheme of their own.'],
}
