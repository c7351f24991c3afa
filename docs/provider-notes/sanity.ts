import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Sanity',
  setUp: [
    'Under **API**, **Webhooks**, create a webhook with the URL of the source and a secret: without one Sanity signs nothing.',
  ],
  traps: [
    'What identifies an event is in unsigned headers. The same body under another key is quarantined.',
    "A projection that leaves `_rev` out gives equal bodies to different changes: keep it in, or set `sameBytes: 'run'`.",
    'Stricter than Sanity’s own library, which asks for no window: what is older than an hour is `quarantined`, kept and not run.',
    'A projection that is empty has no body, cannot be signed, and is refused.',
  ],
  key: '`idempotency-key`, within project and dataset; without it `_id`, `_rev` and the operation',
}
