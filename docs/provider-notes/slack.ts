import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Slack',
  setUp: [
    'In your app’s settings, take the signing secret from **Basic Information**.',
    'Under **Event Subscriptions**, enter the URL of the source. Slack sends a challenge, which is answered.',
  ],
  traps: [
    'Slack waits three seconds. Its retry may arrive while the first request is still being answered: that is a duplicate, and is handled as one.',
    'Commands and interactions have no event id and are known by their `trigger_id`.',
  ],
  key: '`event_id`; for commands and interactions `trigger_id`',
  type: '`event.type`; for commands the command, for interactions their `type`',
}
