import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'OpenAI',
  setUp: [
    'In the settings of your project, under **Webhooks**, create an endpoint with the URL of the source.',
    'Take the signing secret (`whsec_…`), which is shown once.',
  ],
  traps: [
    '`webhook-id` (`wh_…`) and the `id` in the body (`evt_…`) are two ids. Two endpoints get one `evt_…` under two `wh_…`: give each endpoint a source of its own, or one of them no event type of the other.',
    'A secret without `whsec_` is taken as it stands, as OpenAI’s own library does. Standard Webhooks would decode it.',
    'Events are thin: read the response, batch or job through the API.',
  ],
}
