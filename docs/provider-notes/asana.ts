import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Asana',
  setUp: [
    'Start with a long random text as the secret.',
    'Create a webhook through the API, with the URL of the source as its `target`. Asana’s handshake comes while that call is open, and is answered.',
    'The secret is the `X-Hook-Secret` of the call’s answer. Every webhook has its own, and all of them may be `secrets` of one source.',
  ],
  traps: [
    'The handshake is not signed. It is answered, and its secret is not taken: a webhook that a stranger points at your URL is refused at its first event. With `acceptHandshake` it is refused at once.',
    'Events have no id. Two that agree in resource, action, time, user, parent and change are one.',
    'A heartbeat, an empty list of events, comes every eight hours and is answered. A webhook that fails for 24 hours is deleted.',
    'Asana promises to deliver an event at most once: in rare cases one is missing.',
  ],
  key: '`resource.gid`, `action` and `created_at`, with `user.gid`, `parent.gid` and what `change` names',
  type: '`resource.resource_type` and `action`: `task.changed`',
}
