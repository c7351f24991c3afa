import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'GitLab',
  setUp: [
    'In the project’s or group’s settings under **Webhooks**, add the URL of the source.',
    'Where your GitLab has it, generate a signing token (`whsec_…`). Otherwise enter a secret token of your own. Either is a secret of the source.',
  ],
  traps: [
    'With a secret token nothing is signed: a person who learns the token can make events. A source with nothing else warns of it when it is made.',
    'With both kinds in `secrets`, a request without a signature is believed for the secret token. That is for the time of changing from one to the other.',
    'GitLab sends up to 25 MB. After a 413, ours for a body over `bodyBytesMax` or that of a proxy in front of the source, it does not send it again.',
    'GitLab never retries by itself. A request that is resent by hand has the same `idempotency-key`.',
    '`x-gitlab-event-uuid` is shared by all events that one event caused, and is no event’s id.',
    'Before GitLab 17.4 there is no id at all: two events with the same bytes are then one.',
    'After four failures in a row GitLab pauses the webhook, for a minute at first and for a day in the end.',
  ],
  key: '`webhook-id` where it is signed, else `idempotency-key`, else the hash of the body',
}
