import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Figma',
  setUp: [
    'Create a webhook through the API with the URL of the source as `endpoint` and a long `passcode` of your own, which is the secret. The `PING` that follows is answered.',
  ],
  traps: [
    'Nothing is signed. A person who learns the passcode can make events.',
    'The passcode is in every body. It is checked and not kept: what is stored, and what a handler gets, has an empty one.',
    'Figma stops a webhook for good that is answered 400. A wrong passcode is answered 401.',
    'Only 200 is a success to Figma: leave `status` as it is.',
    'There is no event id, and its place is taken by the time of the event, to the second. One publishing of a library makes several events, which are told apart by their content.',
  ],
  key: '`webhook_id` + `event_type` + `timestamp` + `file_key`, and the comment, version or node',
}
