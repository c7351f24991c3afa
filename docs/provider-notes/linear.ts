import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Linear',
  setUp: [
    'In Linear’s settings under **API**, add a webhook with the URL of the source, and copy its signing secret (`lin_wh_…`).',
  ],
  traps: [
    'The window is a minute, as in Linear’s own library. Retries come after a minute, an hour and six hours; whether they have a fresh time is not documented. If they are refused as stale, raise `toleranceSeconds`.',
    '`linear-delivery` is not signed. The same content under another id is quarantined.',
    '`webhookId` is the webhook’s id, the same in all of its deliveries.',
    'Linear waits five seconds, and stops a webhook that fails for long.',
  ],
}
