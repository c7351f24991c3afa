import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Auth0 event streams and log streams',
  setUp: [
    'For events: under **Event Streams**, create a webhook stream with the URL of the source and a bearer token, or a user and a password as one secret: `username:password`.',
    'For logs: under **Monitoring**, **Streams**, create a custom webhook with the URL of the source and an authorization token. Any content format will do.',
    'The secret is the token, without `Bearer`.',
  ],
  traps: [
    'Nothing is signed. A person who learns the token can make events.',
    'An event stream tries four times within seconds and never again after a 4xx. What was missed can be redelivered from Auth0, under the same id.',
    'A log stream shows its token as you typed it. An event must come with `Bearer` or basic authentication.',
    'By default a log stream sends a JSON text in each line. Each is an event, whatever the group it comes in; a line that is no JSON is kept without a key.',
  ],
  key: '`id` of an event, `log_id` of an entry of the log',
  type: '`type` of an event (`user.created`), `data.type` of an entry of the log (`s`, `fp`)',
}
