import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'HubSpot',
  setUp: [
    'In your app’s settings, under **Webhooks**, enter the URL of the source as the target URL.',
    'The secret is the app’s client secret.',
    'Give the same URL as `publicUrl`, byte for byte and with its query.',
  ],
  traps: [
    'The URL is signed. Behind a proxy it is still the one that HubSpot calls.',
    'HubSpot sends `v3` beside an older signature. Where `v3` is there it decides alone. `v1` and `v2` are plain hashes without a time: a captured request stays good, and only the key keeps it from running again.',
    '`eventId` is not unique; `attemptNumber` differs between retries.',
    'Answers such as 401 may never be retried: a wrong secret or `publicUrl` loses events.',
    'Webhooks that a workflow sends have no event id. They are kept for a person.',
    'Timestamps ahead of our clock by more than the tolerance are refused; HubSpot’s own library lets them in.',
    'Stricter than HubSpot’s library: the body must be JSON, so that what was signed for a longer URL of the same app is not read as one for yours.',
  ],
  key: 'subscription, `eventId`, `occurredAt` and the objects it happened to, within the portal',
}
