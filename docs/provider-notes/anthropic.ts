import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Anthropic',
  setUp: [
    'In the Claude Console, under **Manage**, **Webhooks**, create an endpoint with the URL of the source.',
    'Take the signing secret (`whsec_…`), which is shown once.',
  ],
  traps: [
    'The `type` of the body is always `event`; what happened is `data.type`.',
    'Events are thin: read the session or agent through the API, and expect it to have moved on.',
    'Webhooks are in beta. How long Anthropic retries is not documented.',
  ],
}
