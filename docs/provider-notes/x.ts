import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'X (Twitter)',
  setUp: [
    'The secret is the app’s consumer secret (API secret key).',
    'Register the URL of the source with `POST /2/webhooks`. X sends a challenge, now and again later, and is answered.',
  ],
  traps: [
    'A challenge is answered with the HMAC that also signs bodies. Only what looks like a token is answered, and only what begins with `{` is taken for a body.',
    'One direct message is sent once for each subscribed user; `for_user_id` is part of its identity.',
    'Each event has a body of the shape of a request that has only this one. In a request with several, a message has the users and the app that it speaks of (4 KiB at most), and of what else stands beside them 1 KiB; `admin.findRequest` has all of it.',
    'A replay job sends the events of five days again: keep keys for longer than that.',
    'The URL may not have a port.',
  ],
  key: 'the id of the post or message, `data.event_uuid`, or what happened, when, and who did it to whom; within the subscribed user',
  type: 'the list it came in (`tweet_create_events`), or `data.event_type`; `post` for the filtered stream',
}
