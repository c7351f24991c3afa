import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Twilio SendGrid',
  setUp: [
    'Under **Mail Settings**, **Event Webhook**, enter the URL of the source and turn on **Signature Verification**.',
    'Copy the verification key, which is a public key.',
  ],
  traps: [
    'The body ends every element with CRLF, and the signature covers it: nothing may trim the body.',
    'SendGrid retries for a day and does not say whether a retry has a fresh timestamp; its own library asks for no window, so we are stricter: what is older than a day is `quarantined`, kept and not run.',
  ],
  key: '`sg_event_id`, or where it is missing message, event and time',
}
