import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Twilio SendGrid',
  setUp: [
    'Under **Mail Settings**, **Event Webhook**, enter the URL of the source and turn on **Signature Verification**.',
    'Copy the verification key, which is a public key.',
  ],
  traps: [
    'The body ends every element with CRLF, and the signature covers it: nothing may trim the body.',
    'There is no time window by default, because a retry’s timestamp is not documented. Set `toleranceSeconds` to have one.',
  ],
  key: '`sg_event_id`, or where it is missing message, event and time',
}
