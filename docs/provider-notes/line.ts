import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'LINE Messaging API',
  setUp: [
    'The secret is the channel secret, from the channel’s **Basic settings** in the LINE Developers Console.',
    'Under **Messaging API**, enter the URL of the source and turn on **Use webhook**. **Verify** sends an empty list, which is answered 200.',
    'Turn on **Webhook redelivery**: without it a lost delivery is lost.',
  ],
  traps: [
    'LINE waits some two seconds, and stops sending to an endpoint that fails for long.',
    'An event of the mode `standby` is for another channel to answer.',
    'A redelivery may overtake other events: order by `timestamp`.',
    'A reply token is good for a short time only. For what a handler does later, send a push message.',
  ],
}
