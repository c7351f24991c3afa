import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Webflow',
  setUp: [
    'Create the webhook by the API. For an OAuth app the secret is the app’s client secret; with a site token it is the `secretKey` in the answer.',
  ],
  traps: [
    'Webhooks that were made in the dashboard are not signed and cannot be used.',
    'There is no event id. Changes of orders and of stock do not even have a time: if Webflow signs a retry of one anew, it runs again.',
    'The time window is five minutes, as Webflow’s documents say; its library asks for none, so we are stricter. Retries come ten minutes apart, and whether their time is fresh is not documented, so what is older is `quarantined`: kept, and not run. Should retries of yours end there, raise `toleranceSeconds` to 2400.',
    'Webflow turns off webhooks that keep failing.',
  ],
  key: 'the trigger, the id of its object and when that changed; where there is no such time, the signed time of the delivery',
}
