import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Okta event hooks',
  setUp: [
    'Choose a long secret, and start the source with it.',
    'In the Admin Console, under **Workflow**, **Event Hooks**, enter the URL of the source, `authorization` as the authentication field, and the secret.',
    'Verify the hook. Okta sends its challenge, which is answered.',
  ],
  traps: [
    'Nothing is signed. A person who learns the secret can make events.',
    'Okta tries at most twice and never again after a 4xx, so a wrong secret loses events at once. When you change it, have both in `secrets` first. Where no event may be missed, read the System Log as well.',
    'One event in two hooks is two events: the hook’s address is part of its identity.',
    'Past 400,000 events in 24 hours an organization’s hooks stop.',
  ],
  key: '`uuid` of each event, within its hook',
  type: '`eventType` of each event',
}
