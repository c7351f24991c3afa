import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Microsoft Graph',
  setUp: [
    'Create the subscription with the URL of the source as `notificationUrl` and `lifecycleNotificationUrl`, and a long random `clientState`. Graph asks at once, and is answered.',
    'Give every `clientState` in `secrets`. For subscriptions with resource data give `appIds` as well.',
  ],
  traps: [
    'Nothing is signed. A person who learns a `clientState` can make notifications: have one for each subscription, and never log it. It is in the payload too.',
    'Tokens of notifications with resource data show who sends and to whom, and do not cover the body. Check `dataSignature` when you decrypt.',
    'Tokens are believed of the global cloud only. Those of the clouds for governments and for China have other issuers, and are refused.',
    'Some notifications have neither an id nor an etag: presence, lifecycle notifications. A retry of those runs again; read the resource instead of counting.',
    'Graph waits three seconds, ten for a retry, and drops notifications to slow endpoints for good. Answer when stored.',
    'A body whose outermost object has more than 1,000 members is refused before its signature is looked at.',
  ],
  key: 'the subscription and the notification’s `id`; else what changed and its etag; else each arrival',
  type: '`changeType` or `lifecycleEvent`',
}
