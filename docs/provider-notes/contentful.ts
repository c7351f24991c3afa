import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Contentful',
  setUp: [
    'In the space’s webhook settings, enable request verification and copy the signing secret: 64 characters.',
    'Add a webhook with the URL of the source, and give the same URL with its query as `publicUrl`.',
  ],
  traps: [
    'The path and the query are signed. Behind a proxy that rewrites paths, `publicUrl` is what Contentful calls.',
    'Only the headers that Contentful lists are signed. The key need not be among them: the same body under another key is quarantined.',
    "Where you customise the payload so that bodies repeat, or send no body at all, set `sameBytes: 'run'`; otherwise all but the first are quarantined.",
    'A request counts for less than 30 seconds. Keep the clock right.',
    'A space has one signing secret, and rotating it replaces it at once: give the new one beside the old before you do.',
    'Stricter than Contentful’s library: what is listed as signed must be names of headers.',
  ],
  key: '`x-contentful-idempotency-key`, within space and environment',
}
