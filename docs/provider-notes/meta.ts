import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Meta (WhatsApp, Messenger, Instagram, Facebook)',
  setUp: [
    'The secret is the app secret, from **App Settings**, **Basic**.',
    'Choose a `verifyToken`, and enter it beside the URL of the source. Meta asks at once, and is answered.',
  ],
  traps: [
    'One request may carry a thousand updates and be sent again in other groups. Each update is an event, with a body of the shape of a request that has only this one.',
    'Of a list of messages each event has the contact that its message is from, or its status to. What else stands beside several updates is in each of their bodies as far as it has less than 1 KiB; `admin.findRequest` has all of it.',
    'A status has the id of its message; the status is part of the key.',
  ],
  key: 'the message’s id (with the status, for statuses), `mid` (with `deleted`, where it was unsent), or a hash of a change that has no id',
  type: 'the object and what changed: `whatsapp_business_account.messages`, `page.feed`, `page.messaging`',
  exampleOptions: `verifyToken: process.env['META_VERIFY_TOKEN'] ?? '',`,
}
