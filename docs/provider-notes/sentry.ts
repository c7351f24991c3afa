import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Sentry',
  setUp: [
    'In the organisation’s settings under **Developer Settings**, create an integration with the URL of the source as its webhook URL, and copy its client secret.',
  ],
  traps: [
    'Sentry waits one second, and unsubscribes a webhook after a thousand time-outs in a day.',
    '`request-id` is new for each attempt. Errors, alerts, comments, installations and new issues are known by their own ids instead.',
    'Other events, such as a resolved issue, have no id but `request-id`: a retry with the same bytes is quarantined, and so is an issue that is resolved twice with nothing changed between.',
    'The name of the resource and the time are not signed.',
    'The samples in Sentry’s documents sign the body written anew; here it is the bytes that arrived.',
    'The older **WebHooks** plugin signs nothing and is refused.',
  ],
  key: 'the id of what it is about, where it can happen to it but once; else `request-id`',
}
