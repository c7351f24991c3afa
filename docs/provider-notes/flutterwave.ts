import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Flutterwave',
  setUp: [
    'Under **Settings**, **Webhooks**, enter the URL of the source, a secret hash of your own, and turn retries on.',
  ],
  traps: [
    'v3 (`verif-hash`) shows the secret and signs nothing: read the transaction again through the API before you give anything for it.',
    'v4 is taken with an HMAC in `flutterwave-signature`. Some of Flutterwave’s samples compare that header with the secret itself; a delivery of that kind is refused.',
    'Whether a retry keeps its `webhook_id` is not documented, so it is no part of the key.',
    'Retries are off unless you turn them on.',
  ],
  key: '`type` (v3: `event`) + `data.id` + `data.status`; for other shapes the body',
  type: '`type`, in v3 `event`',
}
