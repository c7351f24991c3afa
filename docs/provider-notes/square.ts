import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Square',
  setUp: [
    'In the developer console, add a webhook subscription with the URL of the source, and copy its signature key.',
    'Give the same URL as `publicUrl`, byte for byte.',
  ],
  traps: [
    'The URL is signed: `https://example.com/in/square` and `https://example.com/in/square/` are two.',
    'Stricter than Square’s library: the body must be JSON, so that what was signed for a longer URL is not read as one for yours.',
  ],
}
