import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Twilio',
  setUp: [
    'The secret is the account’s auth token.',
    'Enter the URL of the source where Twilio asks for one, and give it as `publicUrl`, with scheme and host as Twilio calls it.',
  ],
  traps: [
    'The URL is signed. Behind a proxy it is still the one that Twilio called; a query may be added to it.',
    'The idempotency token is not signed. The same fields under another token are quarantined: where your calls repeat themselves (the same digit gathered twice), set `sameBytes` to `run`.',
    'The answer is an empty TwiML `<Response/>`, which hangs up an incoming call and replies nothing to a message. For a call that is to be answered use a handler of your own, and a source for its status callbacks.',
    'Unless the URL asks for more (`#rc=5&rp=all`), Twilio tries once more at most.',
    'Statuses may arrive out of order: calls have a `SequenceNumber`, messages have nothing.',
    'Stricter than Twilio’s library: a field whose name does not begin with a letter, a digit or `_` is refused, because the end of a longer URL of yours would look like one; JSON must come with `bodySHA256`, and not by GET. Other writings of one signed URL (`?`, `&&`, `%20` for `+`) are one request.',
    'One auth token signs for all your URLs. Let none of them be the beginning of another, such as `/in` and `/inbox`.',
    'A form of more than 1,000 fields is refused before its signature is looked at.',
  ],
  key: '`i-twilio-idempotency-token`; without one the SID and a hash of the fields; for Event Streams `id`',
  type: 'what it is about and its status, such as `message.delivered` or `call.completed`; `EventType` or `type` where there is one',
}
