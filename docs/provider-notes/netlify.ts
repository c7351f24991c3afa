import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Netlify',
  setUp: [
    'In the project’s configuration under **Notifications**, add an HTTP POST request with the URL of the source and a JWS secret token, for each event. Without a token nothing is signed, and every delivery is refused.',
  ],
  traps: [
    'There is no event id: `id` is the deploy’s. An event is known by its name, the deploy, its state and when it came into it.',
    'The name of the event is not signed. The same body under another name is quarantined, also where two notifications of yours send it: one deploy may be “succeeded” and “succeeded after a failure”.',
    'No time is signed: a request that was seen can be sent again, and is a duplicate.',
    'No retries are documented.',
  ],
}
