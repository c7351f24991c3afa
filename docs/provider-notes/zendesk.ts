import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Zendesk',
  setUp: [
    'In the Admin Center, under **Apps and integrations**, **Webhooks**, create a webhook with the URL of the source, and copy its signing secret.',
    'For a trigger or an automation, choose POST, PUT or PATCH. GET and DELETE have no body.',
  ],
  traps: [
    'A trigger’s body is what you wrote, and its `id` may be a ticket’s: it is known by the invocation id, which is not signed. The same body under another invocation is quarantined, so put something into it that changes, such as `{{ticket.updated_at_with_timestamp}}`, or set `sameBytes` to `run`.',
    'One change of a ticket may invoke a webhook more than once, each time as an invocation of its own.',
    'Requests of a webhook that is tried out before it exists are signed with a published secret. Never configure that one; it is warned about.',
    'After a thousand errors in five minutes, or seven of ten, Zendesk stops sending for a while.',
  ],
  key: '`id` of an event; for triggers and automations `x-zendesk-webhook-invocation-id`',
}
