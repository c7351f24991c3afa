import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Jira',
  setUp: [
    'In Jira’s settings under **System**, **WebHooks**, or through the API, add the URL of the source and a secret. Without a secret nothing is signed, and every delivery is refused.',
    'For a Connect app, give the shared secret of the site that installed it, and as `publicUrl` the webhook’s address: the base URL of the descriptor and the webhook’s path, without a query. Leave `publicUrl` out otherwise.',
  ],
  traps: [
    'The identifier is not signed, and is unique within one site. It is kept apart by site; the same body under another identifier is quarantined.',
    'The token of a Connect app says nothing of the body: who can change the body on its way can say anything. A token is taken for three minutes.',
    'Give each site of a Connect app a source of its own: with the secrets of several in one source, a site may speak for another.',
    'A Connect app’s `installed` and `uninstalled` are signed otherwise, and are refused.',
    'What follows from a bulk change may come a quarter of an hour later (`x-atlassian-webhook-flow: Secondary`).',
    'Confluence’s webhooks are not retried in the same way.',
  ],
  key: 'the site and `x-atlassian-webhook-identifier`, else the hash of the body',
  publicUrlIsOptional: true,
}
