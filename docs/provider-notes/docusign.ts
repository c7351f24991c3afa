import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Docusign Connect',
  setUp: [
    'Under **Settings**, **Connect**, **Connect Keys**, add a key and copy it. It is used as text.',
    'Add a configuration with the URL of the source, the event message delivery mode **Send individual messages (SIM)** and the data format **REST v2.1** (JSON). Turn on **Include HMAC Signature** and **Require Acknowledgement**.',
  ],
  traps: [
    'Docusign signs with every key of the account, each in a header of its own. One that is ours is enough.',
    'XML messages have no key and are kept for a person. Aggregate messages leave out what lies between two statuses.',
    'Two configurations that send one event make two events: the configuration is part of the key.',
    'With documents included a body may have many megabytes: give the source a `bodyBytesMax` that is as large, or leave the documents out and read them through the API.',
  ],
  key: '`event`, envelope, recipient, `generatedDateTime` and configuration',
  type: '`event`; in aggregate messages `envelope-` and the status',
}
