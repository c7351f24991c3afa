import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Recurly',
  setUp: [
    'Under **Integrations**, **Webhooks**, add an endpoint with the URL of the source and the format JSON.',
    'Copy its secret as it is: 64 hex digits, used as text.',
  ],
  traps: [
    'XML endpoints have no signature and cannot be used.',
    '`id` is the object’s, and there is no event id. The time in the key has whole seconds: two changes of one kind to one object in one second are one event.',
    'The body says what changed and not how: read the object again through the API.',
  ],
}
