import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Twitch EventSub',
  setUp: [
    'Choose a secret of 10 to 100 ASCII characters, and give it as `transport.secret` when you create a subscription with the URL of the source as its callback. Twitch sends a challenge, which is answered.',
  ],
  traps: [
    'Secrets belong to subscriptions. To rotate one, give both and subscribe again.',
    'After too many failures Twitch revokes the subscription. Handle the type `revocation`, whose `subscription.status` says why.',
    'The body of a drop entitlement is the element of `events`, without the subscription around it.',
    'Stricter than Twitch’s sample: an id must have the shape of one. It is signed with nothing between it and the time, and a body may hold a time that a viewer wrote.',
  ],
  key: '`twitch-eventsub-message-id`, which is signed; for drop entitlements the `id` of each',
  type: '`subscription.type`, or `revocation`',
}
