import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Pusher Channels and Beams',
  setUp: [
    'In the dashboard, under **Webhooks** of your app, add the URL of the source.',
    'Take key and secret from **App Keys**. With several keys the oldest active one signs: give all of them.',
  ],
  traps: [
    'Events of Channels have no id. They are known by the time of their delivery and their content.',
    '`channel_vacated` and `member_removed` come up to three seconds late.',
    'A content type other than `application/json` is refused. `application/json; charset=utf-8`, which a proxy may make of it, is taken; Pusher’s own library refuses that.',
  ],
  key: '`time_ms` and the content of the event; for Beams `metadata.event_id`',
  exampleOptions: `keys: [process.env['PUSHER_KEY'] ?? ''],`,
}
