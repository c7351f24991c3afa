import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Zoom',
  setUp: [
    'In the app’s **Features**, **Access**, copy the **Secret Token** and add an event subscription with the URL of the source. Zoom sends a validation, then and every 72 hours, and is answered.',
  ],
  traps: [
    'There is no event id. All the ids in a payload, the event and its time together are one.',
    'Download links and tokens of recordings may differ from one sending to the next, so they do not count.',
    'Zoom retries for 85 minutes, with a timestamp that is not documented, and its own library asks for no window, so we are stricter: what is older than two hours is `quarantined`, kept and not run.',
    'Zoom’s own library signs the body as it would write it again. Here the bytes that arrived are what counts.',
  ],
  key: '`event`, `event_ts` and every id in the payload',
}
